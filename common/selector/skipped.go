package selector

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SkippedKinds are kinds that the operator excludes from being templates. The zero value is empty.
type SkippedKinds struct {
	// text is the operator's spelling.
	text     string
	groups   []string
	versions []schema.GroupVersion
	kinds    []schema.GroupVersionKind
}

// ParseSkippedKinds parses tokens separated by semicolons: "group", "group/version", "group/version/Kind,Kind", and
// "v1/Kind,Kind" for the core group.
func ParseSkippedKinds(s string) (SkippedKinds, error) {
	out := SkippedKinds{text: s}
	for token := range strings.SplitSeq(s, ";") {
		token = strings.TrimSpace(token)
		if token == "" {
			continue
		}
		parts := strings.Split(token, "/")
		if slices.Contains(parts, "") || len(parts) > 3 {
			return out, fmt.Errorf("%q is none of group, group/version, group/version/Kind,Kind and v1/Kind,Kind", token)
		}
		switch {
		case len(parts) == 1:
			out.groups = append(out.groups, parts[0])
		case len(parts) == 2 && parts[0] == "v1":
			out.add(schema.GroupVersion{Version: parts[0]}, parts[1])
		case len(parts) == 2:
			out.versions = append(out.versions, schema.GroupVersion{Group: parts[0], Version: parts[1]})
		default:
			out.add(schema.GroupVersion{Group: parts[0], Version: parts[1]}, parts[2])
		}
	}
	return out, nil
}

func (k *SkippedKinds) add(version schema.GroupVersion, kinds string) {
	for kind := range strings.SplitSeq(kinds, ",") {
		if kind = strings.TrimSpace(kind); kind != "" {
			k.kinds = append(k.kinds, version.WithKind(kind))
		}
	}
}

// has returns whether a kind is among them. Kinds are compared case-insensitively, since people spell them in any
// case.
func (k SkippedKinds) has(kind schema.GroupVersionKind) bool {
	return slices.Contains(k.groups, kind.Group) || slices.Contains(k.versions, kind.GroupVersion()) ||
		slices.ContainsFunc(k.kinds, func(s schema.GroupVersionKind) bool {
			return s.GroupVersion() == kind.GroupVersion() && strings.EqualFold(s.Kind, kind.Kind)
		})
}
