/** The icon: an arrow that goes back around a cell's brackets. */
import { LabIcon } from '@jupyterlab/ui-components';

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <g fill="none" stroke-linecap="round" stroke-linejoin="round">
    <path class="jp-icon3 jp-icon-selectable" stroke="#616161" stroke-width="2" d="M4.4 8.2 A8.6 8.6 0 1 1 3.4 12.4"/>
    <path class="jp-icon3 jp-icon-selectable" stroke="#616161" stroke-width="2" d="M4 3.6 V8.4 H8.8"/>
    <path class="jp-icon3 jp-icon-selectable" stroke="#616161" stroke-width="1.7" d="M10.4 9 H8.7 V15.4 H10.4 M13.6 9 H15.3 V15.4 H13.6"/>
  </g>
</svg>`;

export const rewindIcon = new LabIcon({ name: 'nbrewind:rewind', svgstr: SVG });
