// How the stage draws, as plain data; kept in the browser between visits.

export interface StageLook {
  body: boolean;
  contacts: boolean;
  ghosts: boolean;
  /** Frames between two ghosts. */
  spacing: number;
  path: boolean;
  /** Roles whose way through the air is drawn. */
  trails: string[];
  grid: boolean;
  shadows: boolean;
  follow: boolean;
}

export const FIRST_LOOK: StageLook = {
  body: false, contacts: true, ghosts: false, spacing: 6, path: true, trails: [], grid: true, shadows: true, follow: true,
};
const KEY = "motionloom.stage";

export function keptLook(): StageLook {
  try {
    return { ...FIRST_LOOK, ...JSON.parse(localStorage.getItem(KEY) ?? "{}") };
  } catch { return { ...FIRST_LOOK }; }
}

export function keepLook(look: StageLook): void {
  try { localStorage.setItem(KEY, JSON.stringify(look)); } catch { /* private window: not kept */ }
}
