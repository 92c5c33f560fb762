// Package stagetest is what the tests of single stages share: a manager that runs one on
// a real API server until the test ends, and what that stage tells people.
package stagetest
