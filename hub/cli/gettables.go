package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/hub/cli/table"
	"fairlead.dev/hub/people/view/applications"
)

func appTable(apps []applications.Application, now time.Time) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Name: "NAMESPACE"},
		{Name: "TEMPLATE"},
		{Name: "POLICY"},
		{Name: "READY"},
		{Name: "APPLIED"},
		{Name: "HEALTHY"},
		{Name: "STALE"},
		{Name: "STATE"},
		{Name: "AGE"},
		{Name: "REPLICAS", Wide: true},
		{Name: "BINDING", Wide: true},
		{Name: "WHY", Cut: whyWidth},
	}}
	number := func(n int) table.Cell { return table.Cell{Text: strconv.Itoa(n)} }
	for i := range apps {
		a := &apps[i]
		stale := number(a.Stale)
		if a.Stale > 0 {
			stale.Tone = table.Warn
		}
		t.Rows = append(t.Rows, []table.Cell{
			{Text: a.Namespace},
			{Text: strings.ToLower(a.Kind) + "/" + a.Name},
			{Text: ownerOf(a)},
			{Text: fmt.Sprintf("%d/%d", a.Ready, a.Wanted)},
			number(a.Applied), number(a.Healthy), stale,
			{Text: string(a.State), Tone: toneOf(a.State)},
			{Text: since(now, a.Since)},
			{Text: replicas(a.Replicas)},
			{Text: a.Binding},
			{Text: a.Why},
		})
	}
	return t
}

func replicas(n int32) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(int(n))
}

// ownerOf returns the policy of an application, or what it is attached to.
func ownerOf(a *applications.Application) string {
	switch {
	case a.Policy.Name != "" && a.Policy.Namespace == "":
		return "cpp/" + a.Policy.Name
	case a.Policy.Name != "":
		return "pp/" + a.Policy.Name
	case len(a.Follows) == 1:
		return "follows " + a.Follows[0]
	case len(a.Follows) > 1:
		return fmt.Sprintf("follows %s and %d more", a.Follows[0], len(a.Follows)-1)
	default:
		return ""
	}
}

func placeTable(places []applications.Place) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Name: "CLUSTER"}, {Name: "STATE"}, {Name: "REPLICAS"}, {Name: "APPLIED"}, {Name: "HEALTH"}, {Name: "WHY"},
	}}
	for _, p := range places {
		applied := "no"
		if p.Applied {
			applied = "yes"
		}
		t.Rows = append(t.Rows, []table.Cell{
			{Text: p.Cluster},
			{Text: string(p.State), Tone: toneOf(p.State)},
			{Text: replicas(p.Replicas)},
			{Text: applied},
			{Text: p.Health},
			{Text: p.Why},
		})
	}
	return t
}
