package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"fairlead.dev/hub/people/migrate/conversion"
)

// atOnce is the page size of lists.
const atOnce = 500

// Read reads every object that an API server lists, in its preferred version. It skips kinds that are not worth
// migrating. If an API cannot be read, it returns an error that names the API and no objects, since nobody would know
// what is missing.
func Read(ctx context.Context, cfg *rest.Config, source string) ([]conversion.Document, error) {
	dc, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", cfg.Host, err)
	}
	lists, err := dc.ServerPreferredResources()
	if err != nil && !isEphemeralOnly(err) {
		return nil, fmt.Errorf("reading which APIs %s has: %w", cfg.Host, err)
	}
	objects, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", cfg.Host, err)
	}
	var out []conversion.Document
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("reading which APIs %s has: %w", cfg.Host, err)
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || isEphemeral(gv.Group, resource.Name) {
				continue
			}
			found, err := readAll(ctx, objects.Resource(gv.WithResource(resource.Name)))
			if err != nil {
				return nil, fmt.Errorf("reading %s of %s: %w", resource.Name, gv, err)
			}
			for i := range found {
				out = append(out, conversion.Document{File: source, Object: &found[i]})
			}
		}
	}
	return out, nil
}

// isEphemeralOnly says whether a discovery error concerns only groups that are skipped.
func isEphemeralOnly(err error) bool {
	failed, some := discovery.GroupDiscoveryFailedErrorGroups(err)
	for gv := range failed {
		if !isEphemeral(gv.Group, "") {
			return false
		}
	}
	return some
}

// isEphemeral says whether a kind only describes the present moment.
func isEphemeral(group, resource string) bool {
	return resource == "events" || group == "coordination.k8s.io" || strings.HasSuffix(group, "metrics.k8s.io") || resource == "componentstatuses"
}

func readAll(ctx context.Context, resource dynamic.ResourceInterface) ([]unstructured.Unstructured, error) {
	var out []unstructured.Unstructured
	for next := ""; ; {
		page, err := resource.List(ctx, metav1.ListOptions{Limit: atOnce, Continue: next})
		if err != nil {
			return nil, err
		}
		out = append(out, page.Items...)
		if next = page.GetContinue(); next == "" {
			return out, nil
		}
	}
}
