package merge

import (
	"maps"
	"slices"
)

// Source is the origin of conditions: a cluster, or a part of its report.
type Source struct {
	Cluster string
	// Conditions is the list of its conditions.
	Conditions any
	// Current says that it refers to the present template.
	Current bool
}

// rank orders the statuses of a condition from bad to good.
func rank(status any) int {
	switch status {
	case "False":
		return 1
	case "Degraded":
		return 2
	case "True":
		return 4
	default:
		return 3 // Unknown
	}
}

// statement is one source's condition of one type.
type statement struct {
	source    int
	condition map[string]any
	// status is a string or nil.
	status any
}

// statusOf returns the status of a condition. A status that is not a string, which a member may report, counts as
// Unknown, since it is compared and passed to schemas.
func statusOf(condition map[string]any) any {
	switch status := condition["status"].(type) {
	case nil, string:
		return status
	default:
		return "Unknown"
	}
}

// ByType makes one condition per type, for kinds whose conditions are a map by type. A type is as bad as its worst
// source, and Unknown if a source lacks it. Types in bad are bad when they are True, and sources that lack them do
// not count. The conditions have generation as their observedGeneration if all sources are current.
func ByType(sources []Source, bad []string, generation any) []any {
	found := map[string][]statement{}
	for i := range sources {
		for _, condition := range conditionsOf(sources[i].Conditions) {
			name, ok := condition["type"].(string)
			if _, known := found[name]; !ok || !known && len(found) == most {
				continue
			}
			found[name] = append(found[name], statement{source: i, condition: condition, status: statusOf(condition)})
		}
	}
	out := make([]any, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, merged(name, sources, found[name], slices.Contains(bad, name), generation))
	}
	return out
}

// merged returns the condition for all statements of a type.
func merged(name string, sources []Source, all []statement, bad bool, generation any) map[string]any {
	worst := all[0]
	worstRank := ranked(worst.status, bad)
	current, counted, messages := true, false, false
	for _, one := range all {
		if r := ranked(one.status, bad); r < worstRank {
			worst, worstRank = one, r
		}
		counted = counted || one.condition["observedGeneration"] != nil
		current = current && sources[one.source].Current
		messages = messages || one.condition["message"] != nil
	}
	out := map[string]any{"type": name}
	status, reason := worst.status, worst.condition["reason"]
	reported, silent := message{}, missing(sources, all)
	if n := len(silent.sentences) + silent.omitted; n > 0 && !bad && worstRank > rank("Unknown") {
		status, reason, current = "Unknown", "NotReported", false
		out["message"] = "not reported by " + silent.joined()
	} else {
		for _, one := range all {
			if m := text(one.condition["message"]); m != "" && one.status == status {
				reported.add(sources[one.source].Cluster, m)
			}
		}
		if messages || len(reported.sentences) > 0 {
			out["message"] = reported.joined()
		}
	}
	for _, one := range all {
		later(out, one.condition)
	}
	for field, value := range map[string]any{"status": status, "reason": reason} {
		if value != nil {
			out[field] = value
		}
	}
	if counted && current && generation != nil {
		out["observedGeneration"] = generation
	}
	return out
}

func ranked(status any, bad bool) int {
	r := rank(status)
	if bad {
		return -r
	}
	return r
}

// missing returns the clusters of the sources that say nothing of a type.
func missing(sources []Source, all []statement) message {
	has := make([]bool, len(sources))
	for _, one := range all {
		has[one.source] = true
	}
	out := message{}
	for i := range sources {
		if !has[i] {
			out.add("", sources[i].Cluster)
		}
	}
	return out
}
