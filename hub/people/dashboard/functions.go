package dashboard

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/duration"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/people/dashboard/index"
	"fairlead.dev/hub/people/view"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/clusters"
	"fairlead.dev/hub/people/view/rollouts"
)

// functions returns the template functions.
func (s *Server) functions() template.FuncMap {
	return template.FuncMap{
		"asset":       s.assetPath,
		"clusterPath": clusterPath,
		"appPath":     func(a *applications.Application) string { return appPath(a.Namespace, a.Binding) },
		"keyPath":     func(k index.Key) string { return appPath(k.Namespace, k.Name) },
		"policyPath":  policyPath,
		"rolloutPath": rolloutPath,
		"tone":        stateClass,
		"mark":        stateSymbol,
		"at":          ageTag,
		"until":       until,
		"cores":       cores,
		"bytes":       bytesOf,
		"byteCount":   func(n int64) string { return bytesOf(*resource.NewQuantity(n, resource.BinarySI)) },
		"count":       count,
		"join":        strings.Join,
		"lower":       strings.ToLower,
		"percent":     func(u *clusters.Usage) int { return u.Percent() },
		"list":        func(items ...any) []any { return items },
		"plural":      plural,
		"short":       short,
		"eventAt":     func(e corev1.Event) template.HTML { return ageTag(view.EventTime(&e)) },
	}
}

// none stands for an empty namespace in a path.
const none = "-"

func clusterPath(name string) string { return "/clusters/" + url.PathEscape(name) }

func appPath(namespace, name string) string {
	return "/applications/" + namespaceInPath(namespace) + "/" + url.PathEscape(name)
}

func rolloutPath(namespace, name string) string {
	return "/rollouts/" + namespaceInPath(namespace) + "/" + url.PathEscape(name)
}

func policyPath(p applications.PolicyKey) string {
	return "/policies/" + namespaceInPath(p.Namespace) + "/" + url.PathEscape(p.Name)
}

func namespaceInPath(namespace string) string {
	if namespace == "" {
		return none
	}
	return url.PathEscape(namespace)
}

// namespaceOf returns the namespace in the path.
func namespaceOf(v *visit) string {
	if n := v.request.PathValue("namespace"); n != none {
		return n
	}
	return ""
}

// refusedCount is the name of the state of deliveries that clusters refuse.
const refusedCount = "Refused"

// stateClass returns the CSS class of a state.
func stateClass(state any) string {
	switch fmt.Sprint(state) {
	case string(applications.Healthy), string(clusters.Ready), "True", "Normal", "done",
		string(fairleadv1alpha1.RolloutCompleted), string(rollouts.ClusterStable):
		return "ok"
	case string(applications.Failing), string(applications.Unscheduled), string(clusters.NotReady), string(clusters.Silent), "False", "failed", refusedCount,
		string(fairleadv1alpha1.RolloutHalted), string(fairleadv1alpha1.ClusterFailed), string(fairleadv1alpha1.ClusterLost):
		return "bad"
	case string(applications.Unhealthy), string(applications.Stale), string(clusters.Cordoned), "Unknown", "Warning",
		string(fairleadv1alpha1.RolloutPaused), rollouts.StateText(fairleadv1alpha1.ClusterSetAside):
		return "warn"
	case string(applications.Waiting), string(applications.Moving), string(applications.RollingOut), string(clusters.Joining), "now",
		string(fairleadv1alpha1.RolloutProgressing), string(fairleadv1alpha1.RolloutSoaking), string(fairleadv1alpha1.ClusterReturning),
		rollouts.StateText(fairleadv1alpha1.ClusterInFlight), rollouts.StateText(fairleadv1alpha1.ClusterCatchingUp):
		return "busy"
	default:
		return "idle"
	}
}

// stateSymbol returns a symbol for a state, for people who do not see colours.
func stateSymbol(state any) string {
	switch fmt.Sprint(state) {
	case string(applications.Healthy), string(clusters.Ready), "True", "done",
		string(fairleadv1alpha1.RolloutCompleted), string(rollouts.ClusterStable):
		return "✓"
	case string(applications.Failing), string(applications.Unscheduled), string(clusters.NotReady), "False", "failed",
		string(fairleadv1alpha1.RolloutHalted), string(fairleadv1alpha1.ClusterFailed):
		return "✕"
	case string(applications.Unhealthy), "Warning":
		return "!"
	case string(applications.Stale), string(clusters.Silent), "Unknown",
		string(fairleadv1alpha1.ClusterLost), rollouts.StateText(fairleadv1alpha1.ClusterSetAside):
		return "?"
	case string(applications.Waiting), string(clusters.Joining), "now",
		string(fairleadv1alpha1.RolloutSoaking), rollouts.StateText(fairleadv1alpha1.ClusterInFlight), string(fairleadv1alpha1.ClusterReturning):
		return "…"
	case string(applications.Moving), string(applications.RollingOut), string(applications.Deleting), string(clusters.Removing),
		string(fairleadv1alpha1.RolloutProgressing), rollouts.StateText(fairleadv1alpha1.ClusterCatchingUp):
		return "→"
	case string(applications.Suspended), string(clusters.Cordoned), string(fairleadv1alpha1.RolloutPaused):
		return "‖"
	default:
		return "·"
	}
}

// ageTag renders a time or a pointer to one; the script turns it into an age.
func ageTag(when any) template.HTML {
	var t time.Time
	switch w := when.(type) {
	case time.Time:
		t = w
	case *time.Time:
		if w != nil {
			t = *w
		}
	}
	if t.IsZero() {
		return "–"
	}
	t = t.UTC()
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + `" data-age>` + t.Format("2006-01-02 15:04:05") + ` UTC</time>`) //nolint:gosec // A time contains no markup.
}

// until says how much time is left.
func until(when, now time.Time) string {
	if left := when.Sub(now); left > 0 {
		return "in " + duration.HumanDuration(left)
	}
	return duration.HumanDuration(now.Sub(when)) + " ago"
}

// quantity is the amount of a resource.
type quantity = resource.Quantity

func cores(q quantity) string {
	v := q.AsApproximateFloat64()
	if v >= 10 { //nolint:mnd // fractions do not matter from here on
		return fmt.Sprintf("%.0f", v)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

func bytesOf(q quantity) string {
	v := q.AsApproximateFloat64()
	const step = 1024
	for _, unit := range []string{"B", "KiB", "MiB", "GiB", "TiB"} {
		if v < step || unit == "TiB" {
			if v >= 10 || unit == "B" { //nolint:mnd // as above
				return fmt.Sprintf("%.0f %s", v, unit)
			}
			return fmt.Sprintf("%.1f %s", v, unit)
		}
		v /= step
	}
	return ""
}

// count formats a quantity without a unit.
func count(q quantity) string { return fmt.Sprint(q.Value()) }

// plural returns a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		noun = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// short truncates a text to a number of characters.
func short(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
