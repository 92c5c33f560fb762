// Package reachable is a stand-in for members that are reached through a hub, for tests of who reaches them: it answers what
// is asked about the pods of one Deployment, has logs that go on, and commands that say back what they are given, in capitals,
// and end with status 7. It decides nothing about rights; those of a container called secret are nobody's.
package reachable
