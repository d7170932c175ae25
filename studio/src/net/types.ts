// Names for the types of the server's answers. The types are generated from its OpenAPI document by `make types`.

import type { components } from "../../generated/schema";

export type Schema = components["schemas"];

/** A long computation on the server. */
export type Job<Result = unknown> = Omit<Schema["JobStatus"], "result"> & { result: Result };

export type ActedScript = Schema["ActResult"];
export type Bones = Schema["Bones"];
export type Choreography = Schema["ChoreographyResult"];
export type Clip = Schema["ExportClip"];
export type Cluster = Required<Schema["Cluster"]>;
export type CodeLines = Schema["CodeLines"];
export type CrowdHead = Schema["CrowdHead"];
export type CrowdResult = Schema["CrowdResult"];
export type DanceHead = Schema["DanceHead"];
export type Family = Schema["FamilyGraph"];
export type FamilyEdge = Schema["FamilyEdge"];
export type FamilyNode = Schema["FamilyNode"];
export type FigureBody = Schema["FigureBody"];
export type GraphHead = Schema["GraphHead"];
export type GridSide = Schema["GridSide"];
export type ImportResult = Schema["ImportResult"];
export type LiveHeads = Schema["LiveHeads"];
export type Match = Schema["MatchRow"];
export type MatchState = Schema["MatchFramesHead"];
export type MatchingInfo = Schema["MatchingInfo"];
export type MissingWebs = Schema["MissingWebs"];
export type MotionHead = Schema["MotionHead"];
export type MovementEdge = Schema["MovementEdge"];
export type MovementGraphData = Schema["MovementGraph"];
export type MovementNode = Schema["MovementNode"];
export type Music = Schema["MusicInfo"];
export type ParameterKind = Schema["ParameterKind"];
export type ParametricEntry = Schema["ParametricRow"];
export type ParametricHead = Schema["ParametricHead"];
export type PlannedPhrase = Schema["PlannedSegment"];
export type PlayedSource = Schema["SourceRow"];
export type Quality = Schema["Quality"];
export type QuerySegment = Schema["QuerySegment"];
export type ReachHead = Schema["ReachHead"];
export type ScriptPhrase = Schema["ScriptPhrase"];
export type SearchMenu = Schema["SearchMenu"];
export type SearchMethod = Schema["SearchMethod"];
