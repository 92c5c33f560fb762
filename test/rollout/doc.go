// Package rollout plays stories of staged rollouts: text files in which people, members and the hub do something at
// some time, with the expected state.
//
// The world of a story has its own clock, members that apply what they are sent, and a hub that decides with the same
// packages as the real one: rollout/plan, judge, admit and catchup, and revision.Plan as the binding stage uses it.
// Only its reads and writes differ. The stages run in random order until none has anything to do; every status is
// stored as JSON.
//
// After every write the properties are checked that must always hold: see property.go. Every story is played
// unmodified, then with other orders, with a binding stage that sees each status late, and then once for each of its
// lines with a hub that is restarted there: the properties must hold then, too.
//
// A story, by lines; # begins a comment:
//
//	cluster NAME… [LABEL=VALUE]
//	strategy NAME [settle=D] [deadline=D] [fail=RollBack] [first=Staged] [max=N] [to=Newest] [warn=D] [history=N]
//	wave STRATEGY NAME [on=A,B] [label=KEY:VALUE] [size=N|N%] [order=LABEL] [concurrent=N|N%] [min=N] [soak=D]
//	    [approval=Before|After] [failures=N|N%]
//	app NAME [strategy=NAME] [on=A,B]                 its template is v1, its config c1
//	TIME lose|back CLUSTER…                           what runs there stays
//	TIME restart | stop | start                       the hub: anew, or there is none for a time
//	TIME suspect | trust                              the hub suspects itself, does not any more
//	TIME edit APP TEMPLATE    TIME config APP CONFIG    TIME override APP CLUSTER=TEXT…    TIME scale APP N
//	TIME refuses|sick|cuts|good APP TEMPLATE [CLUSTER…]    what a template does where it is applied
//	TIME add|remove|suspend|unsuspend|drift|deletework APP CLUSTER…
//	TIME adopt APP STRATEGY   TIME pin APP CLUSTER…   a strategy is added; before, a Work is kept from changing
//	TIME save|restore APP                             the status of its rollout
//	TIME take|give APP                                the Secrets of its revisions: they are gone, are there again
//	TIME pause|resume|abort APP   TIME approve APP WAVE   TIME undo APP REVISION [now]   TIME retry|skip APP CLUSTER…
//	TIME expect APP is rN stable rN PHASE [WAVE]
//	TIME expect APP runs CLUSTER=TEMPLATE[+CONFIG]…    TIME expect APP replicas CLUSTER=N…
//	TIME expect APP has CLUSTER=STATE[/REASON]…        stable if the status does not name it
//	TIME expect APP says CONDITION=REASON
//
// A line --- ends it; what follows is what happened, which `go test ./test/rollout -update` writes.
package rollout
