// Pose estimation in the browser: MediaPipe Pose, served by the studio, loaded when it is first needed.

/** Landmarks of a person in one picture; see `motionloom.formats.video.landmark_motion`. */
export interface Pose {
  /** 33 points around the hips in meters: right, down, away from the camera. */
  world: number[];
  /** 33 points in the picture, from its center, in units of its longer side. */
  image: number[];
  visibility: number[];
}

interface Point {
  x: number;
  y: number;
  z: number;
  visibility?: number;
}

interface Results {
  poseLandmarks?: Point[];
  poseWorldLandmarks?: Point[];
}

interface Network {
  setOptions(options: Record<string, unknown>): void;
  onResults(listener: (results: Results) => void): void;
  initialize(): Promise<void>;
  reset(): void;
  send(inputs: { image: HTMLVideoElement | HTMLCanvasElement }): Promise<void>;
}

type NetworkClass = new (config: { locateFile: (file: string) => string }) => Network;

const FOLDER = "pose/"; // next to the page

let loading: Promise<Estimator> | undefined;

/** The estimator of this window; its files are loaded by the first call. */
export function loadEstimator(): Promise<Estimator> {
  loading ??= load().catch((error: unknown) => {
    loading = undefined; // try again the next time
    throw error;
  });
  return loading;
}

async function load(): Promise<Estimator> {
  await new Promise<void>((done, failed) => {
    const script = document.createElement("script");
    script.src = FOLDER + "pose.js";
    script.onload = () => done();
    script.onerror = () => failed(new Error("The pose estimation cannot be loaded. Was the page built completely?"));
    document.head.append(script);
  });
  const made = (window as unknown as { Pose?: NetworkClass }).Pose;
  if (!made) throw new Error("The pose estimation does not run in this browser.");
  const network = new made({ locateFile: (file) => new URL(FOLDER + file, document.baseURI).href });
  network.setOptions({
    modelComplexity: 0, // the network that `motionloom.formats.video` uses
    smoothLandmarks: false, // the solver smooths without a delay
    enableSegmentation: false,
    useCpuInference: true, // as fast for this network, and without a graphics card
    minDetectionConfidence: 0.5,
    minTrackingConfidence: 0.5,
  });
  const estimator = new Estimator(network);
  await network.initialize();
  return estimator;
}

export class Estimator {
  private results: Results = {};

  constructor(private readonly network: Network) {
    network.onResults((results) => (this.results = results));
  }

  /** Forget the person of the last film. */
  restart(): void {
    this.network.reset();
  }

  /** The largest person in the picture; null if there is none. */
  async pose(picture: HTMLVideoElement): Promise<Pose | null> {
    const [width, height] = [picture.videoWidth, picture.videoHeight];
    if (!width || !height) return null;
    this.results = {};
    await this.network.send({ image: picture });
    const { poseLandmarks: flat, poseWorldLandmarks: world } = this.results;
    if (!flat?.length || !world?.length) return null;
    const longer = Math.max(width, height);
    return {
      world: world.flatMap(({ x, y, z }) => [x, y, z]),
      image: flat.flatMap(({ x, y }) => [((x - 0.5) * width) / longer, ((y - 0.5) * height) / longer]),
      visibility: flat.map(({ visibility }) => visibility ?? 0),
    };
  }
}
