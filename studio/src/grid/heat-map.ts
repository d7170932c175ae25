// A heat map of bytes: one texture, colored by a shader, so that zooming is fast.

/** The visible cells: first column and row, and their numbers. */
export interface Seen {
  column: number;
  row: number;
  columns: number;
  rows: number;
}

// Inferno, bright for small distances.
const ANCHORS = [
  "#fcffa4",
  "#f7d03c",
  "#fb9b06",
  "#ed6925",
  "#cf4446",
  "#a52c60",
  "#781c6d",
  "#4a0c6b",
  "#1b0c41",
  "#07051b",
];

export function colorAt(part: number): [number, number, number] {
  const place = Math.min(Math.max(part, 0), 1) * (ANCHORS.length - 1);
  const whole = Math.min(Math.floor(place), ANCHORS.length - 2);
  const rest = place - whole;
  const parts = (text: string) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  const a = parts(ANCHORS[whole]);
  const b = parts(ANCHORS[whole + 1]);
  return [0, 1, 2].map((k) => Math.round(a[k] + rest * (b[k] - a[k]))) as [number, number, number];
}

const CORNERS = `#version 300 es
  const vec2 corners[4] = vec2[4](vec2(-1, -1), vec2(1, -1), vec2(-1, 1), vec2(1, 1));
  out vec2 part;
  void main() { vec2 corner = corners[gl_VertexID]; part = 0.5 * corner + 0.5; gl_Position = vec4(corner, 0, 1); }`;

const COLORS = `#version 300 es
  precision highp float;
  precision highp sampler2D;
  in vec2 part;
  uniform sampler2D cells, marks, scale;
  uniform vec4 seen; // column, row, columns, rows
  uniform vec2 size; // columns, rows of the whole grid
  uniform vec2 pixel; // cells per pixel
  uniform float threshold; // as a fraction of 255
  uniform int shown; // 1 minima, 2 region
  out vec4 color;
  // A pixel that covers several cells shows the smallest distance, and all marks among them.
  void main() {
    vec2 cell = seen.xy + part * seen.zw;
    if (any(lessThan(cell, vec2(0))) || any(greaterThanEqual(cell, size))) { color = vec4(0.09, 0.1, 0.125, 1); return; }
    ivec2 taps = clamp(ivec2(ceil(pixel - 0.01)), ivec2(1), ivec2(8)), last = ivec2(size) - 1;
    float byte = 1.0;
    int bits = 0;
    for (int i = 0; i < taps.x; i++) for (int j = 0; j < taps.y; j++) {
      ivec2 at = clamp(ivec2(floor(cell + (vec2(i, j) + 0.5 - 0.5 * vec2(taps)) * pixel / vec2(taps))), ivec2(0), last);
      byte = min(byte, texelFetch(cells, at, 0).r);
      if (shown > 0) bits |= int(texelFetch(marks, at, 0).r * 255.0 + 0.5);
    }
    color = texelFetch(scale, ivec2(int(byte * 255.0 + 0.5), 0), 0);
    if (byte > threshold) color.rgb *= 0.6;
    if ((shown & 2) != 0 && (bits & 2) != 0) color.rgb = mix(color.rgb, vec3(0.31, 0.62, 0.85), 0.45);
    if ((shown & 1) != 0 && (bits & 1) != 0) color.rgb = vec3(0.49, 0.98, 1.0);
  }`;

export class HeatMap {
  private readonly gl: WebGL2RenderingContext;
  private readonly program: WebGLProgram;
  private readonly textures: WebGLTexture[];
  private rows = 0;
  private columns = 0;

  constructor(readonly canvas: HTMLCanvasElement) {
    const gl = canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error("the distance grid needs WebGL 2, which this browser does not support");
    this.gl = gl;
    this.program = gl.createProgram()!;
    for (const [kind, source] of [
      [gl.VERTEX_SHADER, CORNERS],
      [gl.FRAGMENT_SHADER, COLORS],
    ] as const) {
      const shader = gl.createShader(kind)!;
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader) ?? "shader");
      gl.attachShader(this.program, shader);
    }
    gl.linkProgram(this.program);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    this.textures = [gl.createTexture()!, gl.createTexture()!, gl.createTexture()!];
    this.load(1, new Uint8Array(1), 1, 1);
    const scale = new Uint8Array(256 * 4);
    for (let k = 0; k < 256; k++) scale.set([...colorAt(k / 254), 255], k * 4);
    gl.activeTexture(gl.TEXTURE2);
    gl.bindTexture(gl.TEXTURE_2D, this.textures[2]);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, scale);
    this.sampled();
  }

  setCells(cells: Uint8Array, rows: number, columns: number): void {
    this.rows = rows;
    this.columns = columns;
    this.load(0, cells, rows, columns);
    this.setMarks(null);
  }

  setMarks(marks: Uint8Array | null): void {
    if (marks) this.load(1, marks, this.rows, this.columns);
    else this.load(1, new Uint8Array(1), 1, 1);
  }

  draw(seen: Seen, threshold: number, shown: number): void {
    const { gl, program, canvas } = this;
    if (!this.rows) return;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.useProgram(program);
    const at = (name: string) => gl.getUniformLocation(program, name);
    ["cells", "marks", "scale"].forEach((name, unit) => gl.uniform1i(at(name), unit));
    gl.uniform4f(at("seen"), seen.column, seen.row, seen.columns, seen.rows);
    gl.uniform2f(at("size"), this.columns, this.rows);
    gl.uniform2f(at("pixel"), seen.columns / canvas.width, seen.rows / canvas.height);
    gl.uniform1f(at("threshold"), threshold);
    gl.uniform1i(at("shown"), shown);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  dispose(): void {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  private load(unit: number, bytes: Uint8Array, rows: number, columns: number): void {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(gl.TEXTURE_2D, this.textures[unit]);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R8, columns, rows, 0, gl.RED, gl.UNSIGNED_BYTE, bytes);
    this.sampled();
  }

  private sampled(): void {
    const { gl } = this;
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
  }
}
