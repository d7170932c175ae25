// Motion matching for three.js and other programs in JavaScript: the run-time of `motionloom match export --to web`.

export { FEATURES, MatchingDatabase, readDatabase, type Mesh, type Range, type Skeleton } from "./database";
export { FootLock } from "./foot-lock";
export { Inertializer, type Pose } from "./inertialization";
export { MatchingPlayer, type Controls, type Played } from "./player";
export { Search, type Found } from "./search";
export { HORIZONS, Simulation, type Dynamics } from "./simulation";
