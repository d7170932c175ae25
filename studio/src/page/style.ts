// Styles shared by all elements.

import { css } from "lit";

export const sharedStyles = css`
  :host { color: var(--ink); } /* colors and sizes: tokens.ts */
  * { box-sizing: border-box; }
  h2 { font-size: var(--text-title); margin: 0 0 var(--space-2); }
  p { margin: var(--space-1) 0 var(--space-2); }
  .faint { color: var(--faint); }
  .row { display: flex; gap: var(--space-2); align-items: center; flex-wrap: wrap; }
  button, select, input { font: inherit; color: var(--ink); background: var(--raised);
    border: 1px solid var(--line); border-radius: var(--round); padding: 4px 9px; }
  button { cursor: pointer; white-space: nowrap; }
  button:hover { border-color: var(--accent); }
  button.main { background: var(--accent); color: var(--on-accent); border-color: var(--accent); font-weight: 600; }
  button[aria-pressed="true"] { border-color: var(--accent); color: var(--accent); }
  button:disabled { opacity: 0.4; cursor: default; }
  input::file-selector-button { font: inherit; color: var(--ink); background: var(--panel);
    border: 1px solid var(--line); border-radius: 4px; padding: 2px 8px; cursor: pointer; }
  input { accent-color: var(--accent); }
  input[type="range"] { padding: 0; width: 100%; }
  label { display: grid; gap: 2px; }
  details > summary { cursor: pointer; }
  details.expert > summary { color: var(--faint); font-size: var(--text-small); }
  :focus-visible { outline: 2px solid var(--cool); outline-offset: 1px; }
`;
