// Numbers in words: counts with their noun, durations.

/** `1 take`, `2,425 takes`. */
export function counted(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : nouns}`;
}

/** `12 s`, `8.5 min`, `8 h 41 min`. */
export function durationText(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = seconds / 60;
  if (minutes < 10) return `${minutes.toFixed(1)} min`;
  const whole = Math.round(minutes);
  return whole < 60 ? `${whole} min` : `${Math.floor(whole / 60)} h ${whole % 60} min`;
}
