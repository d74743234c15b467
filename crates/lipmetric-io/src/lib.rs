//! Files in and out for lipmetric: tables, the model file, the bundled data sets.
