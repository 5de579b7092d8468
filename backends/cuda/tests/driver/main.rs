//! Scenarios over the driver: a stub that fails on command, and, where there is one, a card.

mod calls;
mod card;
mod compiler;
mod exchange;
mod faults;
mod graphs;
mod order;
mod products;
mod routines;
mod scenario;
mod setup;
