// Package story parses and plays stories: texts that list events with their times, and the expected state. The meaning
// of the words is up to the world of a story; test/scenario and test/rollout each have one.
//
// A line that begins with a word of the setup belongs to the setup; every other line is a time and an event; # begins a
// comment, and the first comment says what the story is about. A line --- ends the story; the rest is the trace of the
// last run.
package story
