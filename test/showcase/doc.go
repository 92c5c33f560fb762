// Package showcase is a hub with an example of everything, for tests of the user interface: clusters that are ready,
// silent, cordoned and joining, healthy and failing applications, policies that match something and nothing, and the
// dashboard that shows them. No stage of the hub runs, so that nothing changes unless the test changes it.
package showcase
