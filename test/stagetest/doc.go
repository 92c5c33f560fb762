// Package stagetest is shared by the tests of single stages: a manager that runs a stage on a real API server until the
// test ends, and a recorder of the stage's events.
package stagetest
