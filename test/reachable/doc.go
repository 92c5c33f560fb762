// Package reachable is a stub of members that are reached through a hub, for tests of that access. It serves the pods
// of one Deployment, with logs that can be followed, and commands that echo their input in capitals and exit with
// status 7. It authorizes nothing, except that nobody may access a container called secret.
package reachable
