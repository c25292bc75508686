import hooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['lib/**', 'node_modules/**'] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { 'react-hooks': hooks },
    rules: {
      ...hooks.configs.recommended.rules,
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // Signals are connected to methods, with `this` beside them.
      '@typescript-eslint/unbound-method': 'off',
      // What comes from JupyterLab may be missing in the oldest supported one, whatever the newest one's types say.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      '@typescript-eslint/no-unnecessary-boolean-literal-compare': 'off'
    }
  },
  // One state machine, and one list of messages: in parts they would be harder to follow.
  { files: ['src/model.ts', 'src/protocol.ts'], rules: { 'max-lines': ['error', { max: 360, skipBlankLines: true, skipComments: true }] } },
  { files: ['src/__tests__/**'], rules: { 'max-lines': 'off' } }
);
