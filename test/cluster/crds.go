package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/yaml"
)

const crdTimeout = time.Minute

// restClient returns a client for paths, which decodes the kinds of Kubernetes.
func restClient(config *rest.Config) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	api, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return api, nil
}

// installCRDs applies manifests/crds and returns when all of them are served. It is not
// the hub's own installation, so that the tests of other stages do not need that one.
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
	var served []string
	for _, file := range files {
		paths, err := applyCRD(ctx, api, file)
		if err != nil {
			return fmt.Errorf("applying %q: %w", filepath.Base(file), err)
		}
		served = append(served, paths...)
	}
	// That a CRD is established is known a moment before its resource is served, so the
	// resource itself is asked for.
	for _, path := range served {
		var last error
		err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
			last = api.Get().AbsPath(path).Param("limit", "1").Do(ctx).Error()
			return last == nil, nil
		})
		if err != nil {
			return fmt.Errorf("waiting for %q to be served: %w", path, last)
		}
	}
	return nil
}

// applyCRD returns the paths under which the versions of a CRD will be served.
func applyCRD(ctx context.Context, api rest.Interface, file string) ([]string, error) {
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
	var paths []string
	for _, v := range crd.Spec.Versions {
		if v.Served {
			paths = append(paths, fmt.Sprintf("/apis/%s/%s/%s", crd.Spec.Group, v.Name, crd.Spec.Names.Plural))
		}
	}
	return paths, nil
}
