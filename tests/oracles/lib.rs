//! Random work, and small work in every form, against oracles of plain loops: in tests of their own, which are optimised.
