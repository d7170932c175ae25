// Fields of a settings class, read from its JSON schema, and the values given for them.
// Values are flat, as in an address: only those that differ from their defaults, options of a method next to its
// name, and fields of a nested object as "object.field". `bodyOf` converts them to the format of requests.

export type Value = string | number | boolean | string[] | number[] | null;
export type Given = Record<string, Value>;

/** The part of JSON schema that settings use. */
export interface JsonSchema {
  $ref?: string;
  title?: string;
  description?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  discriminator?: { propertyName: string; mapping?: Record<string, string> };
  "x-unit"?: string;
}
export type Schemas = Record<string, JsonSchema>;

export interface Field {
  name: string;
  label: string;
  help: string;
  unit: string;
  /** "method" chooses one of `variants`, "group" has `fields`, "list" has strings; "text" is anything else, also a number
   * or a word. */
  kind: "number" | "integer" | "text" | "choice" | "check" | "list" | "numbers" | "method" | "group";
  default: Value;
  /** True if it may have no value. */
  optional: boolean;
  /** True if a string may replace a number. */
  numeric: boolean;
  least?: number;
  most?: number;
  above?: number;
  choices: string[];
  variants: Variant[];
  fields: Field[];
}

/** A method, and its options. */
export interface Variant {
  name: string;
  help: string;
  fields: Field[];
}

/** Fields of the class of a schema; those of nested objects have the name of the object before theirs, and the defaults
 * that the object has as a whole. */
export function readFields(schema: JsonSchema, schemas: Schemas, prefix = ""): Field[] {
  const { properties = {}, default: whole } = resolved(schema, schemas);
  const usual = (whole ?? {}) as Record<string, unknown>;
  return Object.entries(properties).map(([name, about]) =>
    readField(prefix + name, name, name in usual ? { ...about, default: usual[name] } : about, schemas),
  );
}

function readField(name: string, last: string, given: JsonSchema, schemas: Schemas): Field {
  const outer = resolved(given, schemas);
  const choices = (outer.anyOf ?? [outer]).map((one) => resolved(one, schemas)).flatMap(withOneType);
  const values = choices.filter((one) => one.type !== "null");
  const inner = values.length === 1 ? values[0] : { minimum: values[0]?.minimum, maximum: values[0]?.maximum };
  const variants = readVariants({ ...inner, ...outer }, schemas);
  const chosen = outer.default as Record<string, string> | null | undefined;
  const plain = last.replaceAll("_", " ");
  const title = outer.title ?? plain;
  const kind = variants.length ? "method" : kindOf(inner);
  return {
    name,
    label: title.toLowerCase() === plain ? plain : title, // without the capitals of a generated title
    help: outer.description ?? inner.description ?? "",
    unit: outer["x-unit"] ?? inner["x-unit"] ?? "",
    kind,
    default:
      kind === "method"
        ? (chosen?.[outer.discriminator?.propertyName ?? "name"] ?? variants[0].name)
        : kind === "group"
          ? null
          : ((outer.default as Value | undefined) ?? (kind === "list" ? [] : null)),
    optional: values.length < choices.length,
    numeric: values.some((one) => one.type === "integer" || one.type === "number"),
    least: inner.minimum,
    most: inner.maximum,
    above: inner.exclusiveMinimum,
    choices: values
      .flatMap((one) => one.enum ?? (one.const === undefined ? [] : [one.const]))
      .filter((one) => one !== null)
      .map(String),
    variants,
    fields: kind === "group" ? readFields({ ...inner, default: outer.default }, schemas, `${name}.`) : [],
  };
}

/** A schema of several types as one for each. */
function withOneType(schema: JsonSchema): JsonSchema[] {
  return Array.isArray(schema.type) ? schema.type.map((type) => ({ ...schema, type })) : [schema];
}

function readVariants(schema: JsonSchema, schemas: Schemas): Variant[] {
  if (!schema.oneOf) return [];
  const { propertyName: key = "name", mapping = {} } = schema.discriminator ?? {};
  return schema.oneOf.map((one) => {
    const { [key]: named, ...options } = resolved(one, schemas).properties ?? {};
    const mapped = Object.keys(mapping).find((name) => mapping[name] === one.$ref);
    const about = resolved(one, schemas);
    return {
      name: mapped ?? String(named?.const ?? named?.enum?.[0] ?? named?.default ?? about.title),
      help: (about.description ?? about.title ?? "").split("\n")[0],
      fields: readFields({ properties: options }, schemas),
    };
  });
}

const KINDS: Record<string, Field["kind"]> = { array: "list", boolean: "check", integer: "integer", number: "number" };

function kindOf(schema: JsonSchema): Field["kind"] {
  if (schema.enum) return "choice";
  if (schema.properties) return "group";
  const items = schema.items?.type;
  if (items === "number" || items === "integer") return "numbers";
  return KINDS[String(schema.type ?? "")] ?? "text";
}

function resolved(schema: JsonSchema, schemas: Schemas): JsonSchema {
  if (!schema.$ref) return schema;
  const { $ref, ...rest } = schema;
  return { ...schemas[$ref.split("/").at(-1)!], ...rest };
}

/** A field by its name, also within groups and the methods that are chosen. */
export function pick(fields: Field[], names: readonly string[], given: Given = {}): Field[] {
  const all = activeFields(fields, given);
  return names.flatMap((name) => all.find((one) => one.name === name) ?? []);
}

/** Fields with these names only, in their order, also those of groups; of methods, the options with these names. */
export function restricted(fields: Field[], names: readonly string[]): Field[] {
  const outside = (field: Field): Field[] => (field.kind === "group" ? field.fields.flatMap(outside) : [field]);
  const all = fields.flatMap(outside);
  return names
    .flatMap((name) => all.find((one) => one.name === name) ?? [])
    .map((field) => ({
      ...field,
      variants: field.variants.map((one) => ({ ...one, fields: restricted(one.fields, names) })),
    }));
}

/** The fields that apply to the values: those of groups, and after a method those of the one that is chosen. */
export function activeFields(fields: Field[], given: Given): Field[] {
  return fields.flatMap((field) => {
    if (field.kind === "group") return activeFields(field.fields, given);
    if (field.kind === "method") return [field, ...activeFields(variantOf(field, given).fields, given)];
    return [field];
  });
}

/** The method that is chosen; the default where a name is not known. */
export function variantOf(field: Field, given: Given): Variant {
  const named = (name: Value) => field.variants.find((one) => one.name === name);
  return named(given[field.name] ?? field.default) ?? named(field.default) ?? field.variants[0];
}

/** The values of all fields that apply. */
export function valuesOf(fields: Field[], given: Given): Given {
  return Object.fromEntries(
    activeFields(fields, given).map((field) => [field.name, given[field.name] ?? field.default]),
  );
}

/** The values with some changed; defaults and options of methods that are not chosen are dropped. */
export function withValues(fields: Field[], given: Given, changes: Given): Given {
  const all = { ...given, ...changes };
  const kept = activeFields(fields, all).filter(({ name, default: usual }) => {
    return name in all && JSON.stringify(all[name]) !== JSON.stringify(usual);
  });
  return Object.fromEntries(kept.map(({ name }) => [name, all[name]]));
}

/** Parse a value of a field; undefined if the string is invalid. */
export function parsed(field: Field, text: string): Value | undefined {
  const number = Number(text);
  switch (field.kind) {
    case "check":
      return text === "1" || text === "true";
    case "list":
      return text
        .split(",")
        .map((word) => word.trim())
        .filter(Boolean);
    case "numbers": {
      if (!text.trim()) return field.optional ? null : undefined;
      const numbers = text.split(/[,x ]+/).map(Number);
      return numbers.every(Number.isFinite) ? numbers : undefined;
    }
    case "integer":
    case "number":
      if (!text.trim()) return field.optional ? null : undefined;
      return Number.isFinite(number) && (field.kind === "number" || Number.isInteger(number)) ? number : undefined;
    case "choice":
      if (!text && field.optional) return null;
      return field.choices.includes(text) ? text : undefined;
    case "method":
      return field.variants.some((one) => one.name === text) ? text : undefined;
    case "group":
    case "text":
      if (!text && field.optional) return null;
      return field.numeric && text.trim() && Number.isFinite(number) ? number : text;
  }
}

/** A value as text, for an address or an input. */
export function textOf(value: Value): string {
  if (Array.isArray(value)) return value.join(",");
  if (typeof value === "boolean") return value ? "1" : "0";
  return value === null ? "" : String(value);
}

/** Values from an address; invalid values are ignored. */
export function fromAddress(fields: Field[], query: Record<string, string | undefined>): Given {
  let given: Given = {};
  // Twice: which options there are depends on the method.
  for (let turn = 0; turn < 2; turn++) {
    const read = activeFields(fields, given).map((field) => {
      const text = query[field.name];
      return [field.name, text === undefined ? undefined : parsed(field, text)] as const;
    });
    given = withValues(fields, {}, Object.fromEntries(read.filter(([, value]) => value !== undefined)) as Given);
  }
  return given;
}

/** The values for an address. */
export function toAddress(given: Given): Record<string, string> {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, textOf(value)]));
}

/** The values in the shape of a request: a method is an object with its name and its options. */
export function bodyOf(fields: Field[], given: Given): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const field of fields) {
    const key = field.name.split(".").at(-1)!;
    if (field.kind === "group") {
      const inside = bodyOf(field.fields, given);
      if (Object.keys(inside).length) body[key] = inside;
    } else if (field.kind === "method") {
      const variant = variantOf(field, given);
      const options = bodyOf(variant.fields, given);
      if (variant.name !== field.default || Object.keys(options).length) body[key] = { name: variant.name, ...options };
    } else if (field.name in given) body[key] = given[field.name];
  }
  return body;
}
