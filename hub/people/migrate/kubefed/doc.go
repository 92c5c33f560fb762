// Package kubefed converts what KubeFed is given into templates and policies of this hub.
//
// Every field is converted, or told about, or refused by its name: see types.go for all there
// are. Where KubeFed decides something anew each time, such as how many replicas each cluster
// gets, the conversion can freeze what it decided, so that nothing moves when it is switched off.
package kubefed
