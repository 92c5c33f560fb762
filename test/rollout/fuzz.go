package rollout

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"fairlead.dev/test/story"
)

// invent makes a story up: clusters, one or two strategies, one or two applications, and then some
// hours in which anything may happen.
func invent(seed uint64) *story.Story {
	r := rand.New(rand.NewPCG(seed, 18))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	s := &story.Story{About: fmt.Sprintf("seed %d", seed)}
	setUp := func(format string, args ...any) {
		s.Setup = append(s.Setup, strings.Fields(fmt.Sprintf(format, args...)))
	}
	n := 2 + r.IntN(10)
	clusters := make([]string, n)
	for i := range clusters {
		clusters[i] = fmt.Sprintf("c%02d", i)
		setUp("cluster %s ring=%d site=%s", clusters[i], r.IntN(3), pick("shop", "ship"))
	}
	setUp("strategy s settle=%s deadline=%s fail=%s first=%s max=%d to=%s warn=%s history=%d", pick("0s", "2s", "30s"), pick("2m", "10m"), pick("Halt", "Halt", "RollBack"),
		pick("AllAtOnce", "AllAtOnce", "Staged"), 1+r.IntN(3), pick("Stable", "Stable", "Newest"), pick("1h", "168h"), r.IntN(3))
	for i := range r.IntN(4) {
		line := fmt.Sprintf("wave s w%d order=%s soak=%s approval=%s failures=%s min=%d concurrent=%s", i, pick("", "ring", "site"), pick("0s", "1m", "5m"),
			pick("", "", "", "Before", "After"), pick("0", "0", "1", "30%"), r.IntN(3), pick("100%", "1", "50%"))
		line += pick("", " size=1", " size=30%", " label=site:ship", " label=site:shop size=2", " label=ring:0 size=2")
		setUp("%s", line)
	}
	apps := []string{"web", "shop"}[:1+r.IntN(2)]
	adopted := map[string]bool{}
	for _, a := range apps {
		on := []string{}
		for _, c := range clusters {
			if r.IntN(5) > 0 {
				on = append(on, c)
			}
		}
		if len(on) == 0 {
			on = clusters
		}
		adopted[a] = r.IntN(5) == 0
		if adopted[a] {
			setUp("app %s on=%s", a, strings.Join(on, ","))
		} else {
			setUp("app %s strategy=s on=%s", a, strings.Join(on, ","))
		}
	}
	at := time.Duration(0)
	do := func(format string, args ...any) {
		s.Lines = append(s.Lines, story.Line{Number: len(s.Lines) + 1, At: at, Words: strings.Fields(fmt.Sprintf(format, args...))})
	}
	suspect := false
	version := 1
	for range 10 + r.IntN(40) {
		at += []time.Duration{0, time.Second, 7 * time.Second, 40 * time.Second, 2 * time.Minute, 11 * time.Minute, 45 * time.Minute}[r.IntN(7)]
		a, c := apps[r.IntN(len(apps))], clusters[r.IntN(n)]
		if adopted[a] {
			if r.IntN(3) == 0 {
				do("adopt %s s", a)
				adopted[a] = false
			} else {
				do("%s", pick("pin "+a+" "+c, fmt.Sprintf("edit %s v%d", a, 1+r.IntN(2))))
			}
			continue
		}
		switch r.IntN(28) {
		case 0, 1, 2, 3:
			version++
			if trouble := pick("", "", "refuses", "sick", "cuts"); trouble != "" {
				do("%s %s v%d %s", trouble, a, version, pick("", c))
			}
			do("edit %s v%d", a, version)
		case 4:
			do("edit %s v%d", a, 1+r.IntN(version))
		case 5, 6, 7, 8:
			do("lose %s", c)
		case 9, 10, 11, 12, 13:
			do("back %s", c)
		case 14:
			do("restart")
		case 15:
			if suspect = !suspect; suspect {
				do("suspect")
			} else {
				do("trust")
			}
		case 16:
			do("%s %s", pick("pause", "resume", "resume"), a)
		case 17:
			do("%s %s %s", pick("add", "remove"), a, c)
		case 18:
			do("%s %s %s", pick("suspend", "unsuspend", "unsuspend"), a, c)
		case 19, 20:
			do("approve %s %s", a, pick("w0", "w1", "w2", "rest"))
		case 21:
			do("undo %s %d %s", a, 1+r.IntN(version), pick("", "now"))
		case 22:
			do("abort %s", a)
		case 23:
			do("retry %s %s", a, c)
		case 24:
			do("skip %s %s", a, c)
		case 25:
			do("scale %s %d", a, 1+r.IntN(9))
		case 26:
			do("override %s %s=x%d", a, c, r.IntN(2))
		case 27:
			do("%s", pick("save "+a, "restore "+a, "good "+a+fmt.Sprintf(" v%d", 1+r.IntN(version)), "config "+a+" c2", "suspect", "trust"))
		}
	}
	return s
}

// mend undoes all that hinders: everybody is back, nobody waits for a person, every template is
// good, and somebody edits once more. After that everybody is to have that edit.
func (w *world) mend() {
	w.suspect = false
	for _, name := range names(w.clusters) {
		w.connect(name, true)
	}
	for _, name := range names(w.apps) {
		a := w.apps[name]
		if a.strategy == "" {
			a.strategy = "s"
		}
		clear(a.trouble)
		clear(a.suspended)
		a.spec.Paused, a.spec.Target, a.spec.Skip = false, nil, nil
		a.live.template = "last"
	}
	for range 60 { // Approvals are of the newest revision, which may not be made yet.
		w.advance(w.now.Add(5 * time.Minute))
		if w.mended() {
			return
		}
		for _, name := range names(w.apps) {
			for _, wave := range []string{"w0", "w1", "w2", "rest"} {
				if err := w.doToApp(w.apps[name], "approve", []string{wave}); err != nil {
					w.breaks("%v", err)
				}
			}
		}
	}
}

func (w *world) mended() bool {
	for _, a := range w.apps {
		if status := a.read(); status.Stable == 0 || status.Stable != status.Revision || len(status.Clusters) > 0 || a.secrets[status.Stable].template != a.live.template {
			return false
		}
	}
	return true
}

// checkMended is made after that.
func (w *world) checkMended() {
	for _, name := range names(w.apps) {
		a := w.apps[name]
		status := a.read()
		if status.Revision == 0 || status.Stable != status.Revision || len(status.Clusters) > 0 {
			w.breaks("in the end %s is %s: %+v", name, summary(status), status.Clusters)
			continue
		}
		for _, target := range names(a.targets) {
			if o := a.objects[target]; o == nil || o.manifest != a.live.in(target) {
				w.breaks("in the end %s has not got %s of %s", target, a.live.in(target), name)
			}
		}
	}
}
