// Package kubefed converts the objects of KubeFed into templates and policies of this hub.
//
// Every field is converted, reported, or refused by name: types.go has all of them. Some decisions KubeFed makes again
// each time, such as how many replicas each cluster gets. The conversion can freeze the present result, so that nothing
// moves when KubeFed is switched off.
package kubefed
