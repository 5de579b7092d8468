//! From programs to OpenCL C: every operation through the algebra that it is defined in.
