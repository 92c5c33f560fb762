// Package scenario plays stories of failing clusters: text files in which people, members and the hub do something at
// some time, with the expected state.
//
// The world of a story has its own clock, members that run what their agents apply, and a hub that decides with the
// same packages as the real one: cluster/health, cluster/taint, common/disruption, failover/evict, scheduler/decide,
// binding/render and fanout, status/aggregate. Only its reads and writes differ. The stages run in random order until
// none has anything to do.
//
// After every write of every stage the properties are checked that must always hold: see property.go. Every story is
// played unmodified, then with other orders, and then once for each of its lines with a hub that is restarted there.
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
//	TIME expect APP CLUSTER=N… [leaving CLUSTER…]    the targets, and what is being left
//	TIME expect APP runs CLUSTER=N…                  what really runs
//	TIME expect APP says REASON|nothing              the condition Evicting
//	TIME expect APP label CLUSTER=VALUE              the state that came along
//	TIME expect CLUSTER STATUS                       Ready, or gone
//
// A line --- ends it; what follows is what happened, which `go test ./test/scenario
// -update` writes.
package scenario
