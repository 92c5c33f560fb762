package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter"
)

// version is a hash of an object with rules for some kinds.
type version struct {
	// source names the object.
	source string
	rules  []configv1alpha1.Rule
	hash   []byte
}

// versions returns the versions of all objects, in order of precedence.
func versions(from Sources) []version {
	var out []version
	for _, c := range from.Customizations {
		out = append(out, version{ofCustomization(c.Name), []configv1alpha1.Rule{target(c.Spec.Target)}, hash(c.Name, c.Spec)})
	}
	for _, c := range from.Webhooks {
		out = append(out, version{ofWebhooks(c.Name), rulesOf(c), hash(c.Name, c.Webhooks)})
	}
	return out
}

func hash(name string, rules any) []byte {
	text, err := json.Marshal([]any{name, rules})
	if err != nil { // impossible, since it was decoded from JSON
		text = []byte(name)
	}
	sum := sha256.Sum256(text)
	return sum[:]
}

// AsksOthers implements interpreter.Changing: it returns true where a webhook answers and no script does.
func (s *Store) AsksOthers(kind schema.GroupVersionKind, op interpreter.Operation) bool {
	t := s.table.Load()
	return !t.declare.Has(kind, op) && t.hooks.Has(kind, op)
}

// Version implements interpreter.Changing.
func (s *Store) Version(kind schema.GroupVersionKind) string {
	return versionOf(s.table.Load().versions, kind)
}

// VersionNow returns the Version according to what an API has now, which the store may not have seen yet.
func (s *Store) VersionNow(ctx context.Context, reader client.Reader, kind schema.GroupVersionKind) (string, error) {
	now, err := s.read(ctx, reader, func(error) bool { return false })
	if err != nil {
		return "", err
	}
	return versionOf(versions(now), kind), nil
}

func versionOf(all []version, kind schema.GroupVersionKind) string {
	h, found := sha256.New(), false
	for _, v := range all {
		if concern(v.rules, kind) {
			h.Write(v.hash)
			found = true
		}
	}
	if !found {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil)[:5])
}

// Sources implements interpreter.Sourced. Names have the form KIND/NAME.
func (s *Store) Sources(kind schema.GroupVersionKind, op interpreter.Operation) (all, answering []string) {
	t := s.table.Load()
	for _, v := range t.versions {
		if concern(v.rules, kind) {
			all = append(all, v.source)
		}
	}
	switch {
	case t.declare.Has(kind, op):
		for _, name := range t.declare.Customizations(kind, op) {
			answering = append(answering, ofCustomization(name))
		}
	case t.hooks.Has(kind, op):
		answering = append(answering, ofWebhooks(t.hooks.Configuration(kind, op)))
	}
	return all, answering
}

// RulesOf implements interpreter.Sourced.
func (s *Store) RulesOf(source string) (kinds []string, exists bool) {
	for _, v := range s.table.Load().versions {
		if v.source != source {
			continue
		}
		exists = true
		for _, rule := range v.rules {
			for _, kind := range rule.Kinds {
				for _, group := range rule.APIGroups {
					for _, version := range rule.APIVersions {
						kinds = append(kinds, fmt.Sprintf("%s of %s", kind, schema.GroupVersion{Group: group, Version: version}))
					}
				}
			}
		}
	}
	return kinds, exists
}

func ofCustomization(name string) string { return "ResourceInterpreterCustomization/" + name }

func ofWebhooks(name string) string { return "ResourceInterpreterWebhookConfiguration/" + name }
