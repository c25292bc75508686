import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';

import { HELLO_TARGET, TARGET, VERSION, joined, type Board } from '../protocol';

interface Schema {
  version: number;
  target: string;
  hello_target: string;
  verbs: Record<string, unknown>;
  pushes: Record<string, unknown>;
  $defs: Record<string, { properties?: Record<string, unknown>; required?: string[] }>;
}

const schema = JSON.parse(readFileSync(resolve('../src/nbrewind/ui/protocol.json'), 'utf8')) as Schema;
const source = ts.createSourceFile('p.ts', readFileSync(resolve('src/protocol.ts'), 'utf8'), ts.ScriptTarget.ES2022, true);

/** The members of an interface of protocol.ts, with whether each may be missing. */
function members(name: string): Map<string, boolean> {
  const found = source.statements.find(one => ts.isInterfaceDeclaration(one) && one.name.text === name);
  const list = found !== undefined && ts.isInterfaceDeclaration(found) ? [...found.members] : [];
  return new Map(list.filter(ts.isPropertySignature).map(one => [one.name.getText(), one.questionToken !== undefined]));
}

test('version and targets are those of the kernel', () => {
  expect([VERSION, TARGET, HELLO_TARGET]).toEqual([schema.version, schema.target, schema.hello_target]);
});

test('verbs and pushes are those of the kernel', () => {
  expect([...members('Verbs').keys()].sort()).toEqual(Object.keys(schema.verbs).sort());
  expect([...members('Pushes').keys()].sort()).toEqual(Object.keys(schema.pushes).sort());
});

test.each(['Board', 'Row', 'Offer', 'Item', 'Preview', 'Result', 'Patch', 'CellState', 'SessionRow', 'Look', 'Progress'])(
  '%s has the fields of the kernel, and the same may be missing',
  name => {
    const wanted = schema.$defs[name];
    const here = members(name);
    expect([...here.keys()].sort()).toEqual(Object.keys(wanted.properties ?? {}).sort());
    const required = [...here].filter(([, isOptional]) => !isOptional).map(([key]) => key);
    expect(required.sort()).toEqual([...(wanted.required ?? [])].sort());
  }
);

test('a pushed board keeps the last rows of the one that it counts from, and no other', () => {
  const board = (revision: string, rows: number[], base: string | null, keep: number) =>
    ({ revision, base, keep, rows: rows.map(seq => ({ seq })) }) as unknown as Board;
  const before = board('1', [3, 2, 1], null, 0);

  expect(joined(board('2', [4], '1', 2), before)?.rows).toEqual([{ seq: 4 }, { seq: 2 }, { seq: 1 }]);
  expect(joined(board('2', [4], '0', 2), before)).toBeNull();
});
