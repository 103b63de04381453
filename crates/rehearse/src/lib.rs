//! Does an empty cluster converge? Sets the stage, runs the simulator, explains.
