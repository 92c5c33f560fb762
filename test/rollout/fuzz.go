package rollout

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"fairlead.dev/test/story"
)

// invent makes up a story: clusters, a strategy, one or two applications, and then some hours in which anything may
// happen.
func invent(seed uint64) *story.Story {
	i := &inventor{Rand: rand.New(rand.NewPCG(seed, 18)), story: &story.Story{About: fmt.Sprintf("seed %d", seed)}, adopted: map[string]bool{}, version: 1}
	i.inventClusters()
	i.inventStrategy()
	i.inventApps()
	for range 10 + i.IntN(40) {
		i.at += []time.Duration{0, time.Second, 7 * time.Second, 40 * time.Second, 2 * time.Minute, 11 * time.Minute, 45 * time.Minute}[i.IntN(7)]
		a, c := i.apps[i.IntN(len(i.apps))], i.clusters[i.IntN(len(i.clusters))]
		if i.adopted[a] {
			i.adopt(a, c)
		} else {
			i.happen(a, c)
		}
	}
	return i.story
}

// inventor holds a story while invent makes it up.
type inventor struct {
	*rand.Rand

	story    *story.Story
	clusters []string
	apps     []string
	// adopted are the applications that have no strategy yet.
	adopted map[string]bool
	// at is the time in the story, version the newest version of a template, and suspect whether the hub suspects itself.
	at      time.Duration
	version int
	suspect bool
}

func (i *inventor) pick(of ...string) string { return of[i.IntN(len(of))] }

// setUp adds a line to the setup.
func (i *inventor) setUp(format string, args ...any) {
	i.story.Setup = append(i.story.Setup, strings.Fields(fmt.Sprintf(format, args...)))
}

// do adds a line at the present time of the story.
func (i *inventor) do(format string, args ...any) {
	i.story.Lines = append(i.story.Lines, story.Line{Number: len(i.story.Lines) + 1, At: i.at, Words: strings.Fields(fmt.Sprintf(format, args...))})
}

func (i *inventor) inventClusters() {
	i.clusters = make([]string, 2+i.IntN(10))
	for n := range i.clusters {
		i.clusters[n] = fmt.Sprintf("c%02d", n)
		i.setUp("cluster %s ring=%d site=%s", i.clusters[n], i.IntN(3), i.pick("shop", "ship"))
	}
}

func (i *inventor) inventStrategy() {
	i.setUp("strategy s settle=%s deadline=%s fail=%s first=%s max=%d to=%s warn=%s history=%d", i.pick("0s", "2s", "30s"), i.pick("2m", "10m"), i.pick("Halt", "Halt", "RollBack"),
		i.pick("AllAtOnce", "AllAtOnce", "Staged"), 1+i.IntN(3), i.pick("Stable", "Stable", "Newest"), i.pick("1h", "168h"), i.IntN(3))
	for n := range i.IntN(4) {
		line := fmt.Sprintf("wave s w%d order=%s soak=%s approval=%s failures=%s min=%d concurrent=%s", n, i.pick("", "ring", "site"), i.pick("0s", "1m", "5m"),
			i.pick("", "", "", "Before", "After"), i.pick("0", "0", "1", "30%"), i.IntN(3), i.pick("100%", "1", "50%"))
		line += i.pick("", " size=1", " size=30%", " label=site:ship", " label=site:shop size=2", " label=ring:0 size=2")
		i.setUp("%s", line)
	}
}

func (i *inventor) inventApps() {
	i.apps = []string{"web", "shop"}[:1+i.IntN(2)]
	for _, a := range i.apps {
		on := []string{}
		for _, c := range i.clusters {
			if i.IntN(5) > 0 {
				on = append(on, c)
			}
		}
		if len(on) == 0 {
			on = i.clusters
		}
		i.adopted[a] = i.IntN(5) == 0
		if i.adopted[a] {
			i.setUp("app %s on=%s", a, strings.Join(on, ","))
		} else {
			i.setUp("app %s strategy=s on=%s", a, strings.Join(on, ","))
		}
	}
}

// adopt adds an event of an application without a strategy: it may get one.
func (i *inventor) adopt(a, c string) {
	if i.IntN(3) == 0 {
		i.do("adopt %s s", a)
		i.adopted[a] = false
		return
	}
	i.do("%s", i.pick("pin "+a+" "+c, fmt.Sprintf("edit %s v%d", a, 1+i.IntN(2))))
}

// happen adds an event of the hub, of an application with the strategy, or of a cluster.
func (i *inventor) happen(a, c string) {
	switch i.IntN(28) {
	case 0, 1, 2, 3:
		i.version++
		if fault := i.pick("", "", "refuses", "sick", "cuts"); fault != "" {
			i.do("%s %s v%d %s", fault, a, i.version, i.pick("", c))
		}
		i.do("edit %s v%d", a, i.version)
	case 4:
		i.do("edit %s v%d", a, 1+i.IntN(i.version))
	case 5, 6, 7, 8:
		i.do("lose %s", c)
	case 9, 10, 11, 12, 13:
		i.do("back %s", c)
	case 14:
		i.do("restart")
	case 15:
		if i.suspect = !i.suspect; i.suspect {
			i.do("suspect")
		} else {
			i.do("trust")
		}
	case 16:
		i.do("%s %s", i.pick("pause", "resume", "resume"), a)
	case 17:
		i.do("%s %s %s", i.pick("add", "remove"), a, c)
	case 18:
		i.do("%s %s %s", i.pick("suspend", "unsuspend", "unsuspend"), a, c)
	case 19, 20:
		i.do("approve %s %s", a, i.pick("w0", "w1", "w2", "rest"))
	case 21:
		i.do("undo %s %d %s", a, 1+i.IntN(i.version), i.pick("", "now"))
	case 22:
		i.do("abort %s", a)
	case 23:
		i.do("retry %s %s", a, c)
	case 24:
		i.do("skip %s %s", a, c)
	case 25:
		i.do("scale %s %d", a, 1+i.IntN(9))
	case 26:
		i.do("override %s %s=x%d", a, c, i.IntN(2))
	case 27:
		i.do("%s", i.pick("save "+a, "restore "+a, "good "+a+fmt.Sprintf(" v%d", 1+i.IntN(i.version)), "config "+a+" c2", "suspect", "trust"))
	}
}

// mend removes every obstacle: all clusters are back, nothing waits for a person, every template is good. Then it edits
// every application once more. After that, every cluster must get that edit.
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
	for range 60 { // An approval applies to the newest revision, which may not exist yet.
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

// checkMended checks after mend that every target has the newest content.
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
