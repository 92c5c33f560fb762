// Package story reads stories and tells them: texts in which something happens at some time, and what
// is to be seen then. What the words mean is for the world of a story to say, which test/scenario and
// test/rollout have one of each.
//
// A line that begins with a word of the setup is one; every other is a time and what happens then;
// # begins a comment, and the first one says what the story is about. A line --- ends the story; what
// follows is what happened when it was told last.
package story
