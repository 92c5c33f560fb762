// Package scenario plays stories of failing clusters: text files that say what people, members and the hub do at which
// time, and which state is expected.
//
// The world of a story has its own clock, members that run the objects that their agents apply, and a hub that decides
// with the same packages as the real one: cluster/health, cluster/taint, common/disruption, failover/evict,
// scheduler/decide, binding/render and fanout, status/aggregate. Only its reads and writes differ. The stages run in
// random order until none has anything to do.
//
// After every write of every stage, the test checks the properties in property.go, which must always hold. Every story
// is played unmodified, then in other orders, and then once for each of its lines with a hub that restarts there.
//
// A story, by lines; # begins a comment:
//
//	cluster NAME [region=R] [room=PODS]
//	app NAME replicas=N [as=divided|aggregated|dynamic|duplicated] [on=A,B] [groups=A,B/C,D]
//	    [overflow=E,F/G] [returns=true] [spread=MIN-MAX] [purge=MODE] [tolerate=DURATION] [failover=DURATION] [failpurge=MODE]
//	    [grace=DURATION] [state=true] [startup=DURATION]
//	TIME lose|cut|back|delete|forget|cordon|evict|uncordon CLUSTER…
//	TIME flap CLUSTER OFF ON TIMES
//	TIME restart | stop | start           the hub
//	TIME sicken APP CLUSTER[=N]…          no replica of it works there, or no more than N
//	TIME heal APP CLUSTER…                TIME template|release APP    TIME scale APP N
//	TIME suspend APP [CLUSTER…] | resume APP         dispatching, to all clusters if none is named
//	TIME room CLUSTER PODS
//	TIME expect APP CLUSTER=N… [leaving CLUSTER…]    the targets, and the clusters that it leaves
//	TIME expect APP runs CLUSTER=N…                  the ready replicas in the members
//	TIME expect APP says REASON|nothing              the condition Evicting
//	TIME expect APP label CLUSTER=VALUE              the state that moved with the application
//	TIME expect CLUSTER STATUS                       Ready, or gone
//
// A line --- ends the story. The record of what happened follows, which `go test ./test/scenario -update` writes.
package scenario
