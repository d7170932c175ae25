// Descriptive names of feature sets and frame distances; commands, addresses and "expert" use their codes.

const WORDS: Record<string, string> = {
  e15: "hands, feet and head",
  e30: "ten joints",
  e39: "thirteen joints",
  e15x3: "hands, feet, head; 3 frames",
  e15x5: "hands, feet, head; 5 frames",
  e30x3: "ten joints; 3 frames",
  e39x3: "thirteen joints; 3 frames",
  pca8: "8 principal components",
  pca16: "16 principal components",
  pca25: "25 principal components",
  pc1: "point cloud of one pose",
  pc11: "point cloud of eleven poses",
  quat: "joint rotations",
  euler: "joint angles",
  lee: "joint angles and velocities (Lee)",
  wb: "joint angles and velocities (Wang)",
  jrd: "distances between joints",
};

/** Descriptive name of a feature set or frame distance, or its code. */
export function measureName(code: string): string {
  return WORDS[code] ?? code;
}

/** Choices of measures by their codes, with the names and codes as words. */
export function measureChoices(...lists: readonly { name: string }[][]): Record<string, string> {
  const titled = (code: string) => (code in WORDS ? `${WORDS[code]} (${code})` : code);
  return Object.fromEntries(lists.flat().map(({ name }) => [name, titled(name)]));
}
