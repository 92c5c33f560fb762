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
	// Current says that it speaks of the template as it is now.
	Current bool
}

// rank is how good it is that a condition has a status.
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
	// status is a text or nil.
	status any
}

// statusOf is the status of a condition. What is no text, which a member may report, is Unknown:
// it is compared, and told to schemas.
func statusOf(condition map[string]any) any {
	switch status := condition["status"].(type) {
	case nil, string:
		return status
	default:
		return "Unknown"
	}
}

// ByType makes one condition per type, as kinds demand whose conditions are a map by type. A
// type is as bad as the worst source says, and Unknown if a source does not have it. Types in
// bad are bad when they are True, and sources without them do not count. The conditions say
// generation as their observedGeneration if all sources are current.
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

// merged returns the condition that all sayings of a type make.
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
	said, silent := texts{}, missing(sources, all)
	if n := len(silent.said) + silent.more; n > 0 && !bad && worstRank > rank("Unknown") {
		status, reason, current = "Unknown", "NotReported", false
		out["message"] = "not reported by " + silent.joined()
	} else {
		for _, one := range all {
			if m := text(one.condition["message"]); m != "" && one.status == status {
				said.say(sources[one.source].Cluster, m)
			}
		}
		if messages || len(said.said) > 0 {
			out["message"] = said.joined()
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
func missing(sources []Source, all []statement) texts {
	has := make([]bool, len(sources))
	for _, one := range all {
		has[one.source] = true
	}
	out := texts{}
	for i := range sources {
		if !has[i] {
			out.say("", sources[i].Cluster)
		}
	}
	return out
}
