// Package plan divides the targets of an application into the waves of a rollout. It is pure.
//
// The clusters of a wave and their order are decided once, when a revision is made, and stored with it, so that no cluster moves to another
// wave when a label changes or a target leaves meanwhile. Targets added later are placed one by one.
package plan
