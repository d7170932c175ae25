// The user's character: a GLB file with a skinned mesh, on which motions are shown until it is cleared.

import { wearCharacter } from "../motion/motion";
import { getJson, send, type Answer } from "../net/api";
import type { Studio } from "../page/studio";

export type CharacterInfo = Answer<"get", "characters/{key}">;

const KEY = "motionloom.character"; // of the session of this window

/** Fires "change". */
export class OwnCharacter extends EventTarget {
  current: CharacterInfo | null = null;
  /** Resolves when the character of this window is known; takes are opened after it. */
  ready: Promise<void> = Promise.resolve();

  constructor(private readonly studio: Studio) {
    super();
  }

  /** Show the character of this window again, as after a reload; the server may have forgotten it. */
  restore(): void {
    this.ready = this.restored();
  }

  private async restored(): Promise<void> {
    const key = sessionStorage.getItem(KEY);
    if (!key) return;
    const found = await getJson("characters/{key}", { path: { key } }).catch(() => null);
    if (!found) {
      sessionStorage.removeItem(KEY);
      return;
    }
    this.current = found;
    wearCharacter(found.id);
    this.dispatchEvent(new Event("change"));
  }

  /** Send the file of a character, and show it. */
  async load(file: File): Promise<void> {
    await this.studio.attempt(async () => {
      await this.wear(await send("put", "characters/{filename}", { path: { filename: file.name }, body: file }));
      this.studio.stage.set({ body: true });
    });
  }

  clear(): Promise<void> {
    return this.wear(null);
  }

  private async wear(character: CharacterInfo | null): Promise<void> {
    const { studio } = this;
    this.current = character;
    if (character) sessionStorage.setItem(KEY, character.id);
    else sessionStorage.removeItem(KEY);
    wearCharacter(character?.id ?? "");
    this.dispatchEvent(new Event("change"));
    if (studio.take === null) {
      if (character && studio.stage.characters.length > 1 && !studio.subject?.segment)
        studio.notify(
          `${character.name} is used only for a single character. Couples and crowds keep the neutral body.`,
        );
      return;
    }
    const { selection } = studio;
    const names = studio.stage.characters.map((one) => one.motion.name);
    await studio.open(
      studio.take,
      names.filter((name) => name !== studio.take),
    );
    if (selection) studio.select(selection);
  }
}
