// Package rollout plays stories of staged rollouts: text files that say what people, members and the hub do at which
// time, and which state is expected.
//
// The world of a story has its own clock, members that apply the Works they receive, and a hub that decides with the
// same packages as the real one: rollout/plan, judge, admit and catchup, and revision.Plan as in the binding stage.
// Only its reads and writes differ. The stages run in random order until none has anything to do; every status is
// stored as JSON.
//
// After every write, the test checks the properties in property.go, which must always hold. Every story is played
// unmodified, then in other orders, then with a binding stage that sees each status late, and then once for each of its
// lines with a hub that restarts there. The properties must hold each time.
//
// A story, by lines; # begins a comment:
//
//	cluster NAME… [LABEL=VALUE]
//	strategy NAME [settle=D] [deadline=D] [fail=RollBack] [first=Staged] [max=N] [to=Newest] [warn=D] [history=N]
//	wave STRATEGY NAME [on=A,B] [label=KEY:VALUE] [size=N|N%] [order=LABEL] [concurrent=N|N%] [min=N] [soak=D]
//	    [approval=Before|After] [failures=N|N%]
//	app NAME [strategy=NAME] [on=A,B]                 its template is v1, its config c1
//	TIME lose|back CLUSTER…                           the cluster's objects stay
//	TIME restart | stop | start                       the hub; between stop and start there is none
//	TIME suspect | trust                              the hub suspects itself, or no longer does
//	TIME edit APP TEMPLATE    TIME config APP CONFIG    TIME override APP CLUSTER=TEXT…    TIME scale APP N
//	TIME refuses|sick|cuts|good APP TEMPLATE [CLUSTER…]    the fault of a template where it is applied
//	TIME add|remove|suspend|unsuspend|drift|deletework APP CLUSTER…
//	TIME adopt APP STRATEGY   TIME pin APP CLUSTER…   a strategy is added; before that, a Work is protected from changes
//	TIME save|restore APP                             the status of its rollout
//	TIME take|give APP                                the Secrets of its revisions disappear, come back
//	TIME pause|resume|abort APP   TIME approve APP WAVE   TIME undo APP REVISION [now]   TIME retry|skip APP CLUSTER…
//	TIME expect APP is rN stable rN PHASE [WAVE]
//	TIME expect APP runs CLUSTER=TEMPLATE[+CONFIG]…    TIME expect APP replicas CLUSTER=N…
//	TIME expect APP has CLUSTER=STATE[/REASON]…        stable if the status does not name it
//	TIME expect APP says CONDITION=REASON
//
// A line --- ends the story. The record of what happened follows, which `go test ./test/rollout -update` writes.
package rollout
