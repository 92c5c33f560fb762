package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/test/story"
)

// doToApp executes an event of an application: of its template, its targets, or its objects in clusters.
func (w *world) doToApp(a *app, verb string, args []string) error {
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch verb {
	case "edit":
		a.live.template = first
		return nil
	case "config":
		a.live.config = first
		return nil
	case "override":
		a.live.override = map[string]string{}
		maps.Copy(a.live.override, story.Options(args))
		return nil
	case "scale":
		n, err := strconv.Atoi(first)
		a.replicas = n
		return err
	case "adopt":
		a.strategy = first
		return nil
	case "add", "remove":
		for _, name := range args {
			if verb == "add" {
				a.targets[name] = true
			} else {
				delete(a.targets, name)
			}
		}
		return nil
	case "suspend", "unsuspend":
		for _, name := range args {
			a.suspended[name] = verb == "suspend"
		}
		return nil
	case "pin":
		for _, name := range args {
			a.pinned[name] = true
		}
		return nil
	case "drift":
		for _, name := range args {
			a.objects[name].manifest = "by hand"
		}
		return nil
	case "deletework", "take", "give", "save", "restore", "refuses", "sick", "cuts", "good":
		a.disrupt(verb, first, args)
		return nil
	}
	return w.steer(a, verb, first, args)
}

// disrupt executes an event that no user of the hub causes: lost Works, Secrets and status, and troubles in clusters.
func (a *app) disrupt(verb, first string, args []string) {
	switch verb {
	case "deletework":
		for _, name := range args {
			delete(a.works, name)
			a.objects[name] = &object{manifest: a.objects[name].manifest, readyAt: a.objects[name].readyAt}
		}
	case "take":
		a.taken, a.secrets = a.secrets, map[int64]revisionSecret{}
	case "give":
		a.taken, a.secrets = nil, a.taken
	case "save":
		a.saved = a.status
	case "restore":
		a.status, a.restored = a.saved, true
	case "refuses", "sick", "cuts", "good":
		for _, name := range append(args[1:], "")[:max(len(args)-1, 1)] {
			a.trouble[strings.TrimSpace(first+" "+name)] = strings.TrimPrefix(verb, "good")
		}
	}
}

// steer changes the spec of the application's rollout as a user.
func (w *world) steer(a *app, verb, first string, args []string) error {
	status := *a.read()
	a.generation++
	switch verb {
	case "pause", "resume":
		a.spec.Paused = verb == "pause"
	case "approve":
		a.spec.Approvals = append(a.spec.Approvals, fairleadv1alpha1.WaveApproval{Revision: status.Revision, Wave: first})
	case "undo":
		n, err := strconv.ParseInt(first, 10, 64)
		a.spec.Target = &fairleadv1alpha1.RolloutTarget{Revision: n, Over: status.Revision, Immediately: slices.Contains(args, "now")}
		return err
	case "abort":
		a.spec.Target = &fairleadv1alpha1.RolloutTarget{Revision: status.Stable, Over: status.Revision, Immediately: true}
	case "retry":
		for _, name := range args {
			a.spec.Retry = append(a.spec.Retry, fairleadv1alpha1.ClusterAtRevision{Revision: status.Revision, Cluster: name, Attempt: w.now.Format(time.RFC3339)})
		}
	case "skip":
		for _, name := range args {
			a.spec.Skip = append(a.spec.Skip, fairleadv1alpha1.ClusterAtRevision{Revision: status.Revision, Cluster: name})
		}
	default:
		return fmt.Errorf("nobody can %s", verb)
	}
	return nil
}
