// Calls the search of orangeduck's Motion-Matching (its database.h) on arrays of ours.
#include "character.h"
#include "database.h"

static database db;

extern "C" void load(const float* rows, int frames, int features, const int* starts,
                     const int* stops, int ranges) {
    db.features.resize(frames, features);
    memcpy(db.features.data, rows, sizeof(float) * frames * features);
    db.features_offset.resize(features);
    db.features_scale.resize(features);
    db.features_offset.zero();
    db.features_scale.set(1.0f);
    db.range_starts.resize(ranges);
    db.range_stops.resize(ranges);
    memcpy(db.range_starts.data, starts, sizeof(int) * ranges);
    memcpy(db.range_stops.data, stops, sizeof(int) * ranges);
    db.bone_positions.resize(frames, 1);  // the number of frames
    database_build_bounds(db);
}

// Frames nearest to each of `count` queries; `current` may be -1 for each.
extern "C" void search(const float* queries, const int* current, int count, int* found,
                       float* costs) {
    int features = db.nfeatures();
    for (int i = 0; i < count; i++) {
        found[i] = current[i];
        costs[i] = FLT_MAX;
        database_search(found[i], costs[i], db,
                        slice1d<float>(features, (float*)queries + (long)i * features), 0.0f, 20,
                        20);
    }
}
