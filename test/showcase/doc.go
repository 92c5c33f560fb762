// Package showcase is a hub with a little of everything on it, for tests of what people see:
// clusters that are ready, silent, cordoned and joining, applications that fare well and
// badly, policies that match something and nothing, and the dashboard that shows it. No
// stage of the hub runs, so that all stays as it is unless the test changes it.
package showcase
