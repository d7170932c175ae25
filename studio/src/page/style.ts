// Styles shared by all elements.

import { css } from "lit";

export const sharedStyles = css`
  :host { color: var(--ink); } /* colors: theme.ts */
  * { box-sizing: border-box; }
  h2 { font-size: 15px; margin: 0 0 8px; }
  p { margin: 4px 0 8px; }
  .faint { color: var(--faint); }
  .row { display: flex; gap: 8px; align-items: center; flex-wrap: wrap; }
  button, select, input { font: inherit; color: var(--ink); background: var(--raised);
    border: 1px solid var(--line); border-radius: 5px; padding: 4px 9px; }
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
  :focus-visible { outline: 2px solid var(--cool); outline-offset: 1px; }
`;
