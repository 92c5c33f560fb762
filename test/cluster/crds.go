package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"
)

const crdTimeout = 2 * time.Minute

// restClient returns a client for raw paths, which decodes the built-in kinds.
func restClient(config *rest.Config) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	api, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return api, nil
}

// installCRDs applies manifests/crds and returns when all of them are served. It does not use the hub's installer, so
// that tests of other stages do not depend on it.
func installCRDs(ctx context.Context, config *rest.Config) error {
	root, err := Root()
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(root, "manifests", "crds", "*.yaml"))
	if err != nil {
		return fmt.Errorf("listing CRDs: %w", err)
	}
	if len(files) == 0 {
		return fmt.Errorf("no CRDs in %q; run `make generate`", filepath.Join(root, "manifests", "crds"))
	}
	api, err := restClient(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, crdTimeout)
	defer cancel()
	var served []resource
	for _, file := range files {
		resources, err := applyCRD(ctx, api, file)
		if err != nil {
			return fmt.Errorf("applying %q: %w", filepath.Base(file), err)
		}
		served = append(served, resources...)
	}
	mapper, err := newMapper(config)
	if err != nil {
		return err
	}
	// A CRD is Established a moment before its resource is served, and the resource is served a moment before discovery
	// lists it, which clients need. So wait for both discovery and the resource.
	for _, r := range served {
		var last error
		err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
			if _, last = mapper.RESTMapping(r.kind.GroupKind(), r.kind.Version); last == nil {
				last = api.Get().AbsPath(r.path).Param("limit", "1").Do(ctx).Error()
			}
			return last == nil, nil
		})
		if err != nil {
			return fmt.Errorf("waiting for %q to be served: %w", r.path, last)
		}
	}
	return nil
}

// newMapper returns a RESTMapper that repeats discovery for kinds that it does not know.
func newMapper(config *rest.Config) (meta.RESTMapper, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, client)
	if err != nil {
		return nil, fmt.Errorf("making a mapper: %w", err)
	}
	return mapper, nil
}

// resource is a version of a CRD.
type resource struct {
	kind schema.GroupVersionKind
	path string
}

// applyCRD applies a CRD and returns the resources that will be served.
func applyCRD(ctx context.Context, api rest.Interface, file string) ([]resource, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(data, &crd); err != nil {
		return nil, err
	}
	err = api.Patch(types.ApplyYAMLPatchType).
		AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd.Name).
		Param("fieldManager", "fairlead-test").Param("force", "true").
		Body(data).Do(ctx).Error()
	if err != nil {
		return nil, err
	}
	var out []resource
	for _, v := range crd.Spec.Versions {
		if v.Served {
			out = append(out, resource{
				kind: schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind},
				path: fmt.Sprintf("/apis/%s/%s/%s", crd.Spec.Group, v.Name, crd.Spec.Names.Plural),
			})
		}
	}
	return out, nil
}
