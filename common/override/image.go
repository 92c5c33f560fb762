package override

import (
	"fmt"
	"strings"

	"github.com/distribution/reference"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// image holds the parts of an image reference.
type image struct {
	registry   string
	repository string
	tag        string
	digest     string
}

// applyImage changes images: the one at the predicate's path, or those of all containers except init containers,
// since an application's tag or repository would turn these into another program. It returns why it had no effect;
// empty if it had one.
func applyImage(obj *unstructured.Unstructured, o *policyv1alpha1.ImageOverrider, steps *budget) (string, error) {
	if o.Predicate != nil {
		if err := steps.spend(1); err != nil {
			return "", err
		}
		at, err := stringAt(obj.Object, o.Predicate.Path)
		if err != nil {
			return "", fmt.Errorf("predicate: %w", err)
		}
		changed, why, err := changeImage(at.value, o)
		if err != nil {
			return "", fmt.Errorf("at %q: %w", o.Predicate.Path, err)
		}
		at.set(changed)
		return why, nil
	}
	all := containers(obj, "containers")
	if err := steps.spend(1 + len(all)); err != nil {
		return "", err
	}
	if len(all) == 0 {
		return noTemplate, nil
	}
	without := "no container has an image"
	had := false
	for _, container := range all {
		value, ok := container["image"].(string)
		if !ok || value == "" {
			continue
		}
		changed, why, err := changeImage(value, o)
		if err != nil {
			return "", fmt.Errorf("container %q: %w", container["name"], err)
		}
		container["image"] = changed
		if without = why; why == "" {
			had = true
		}
	}
	if had {
		return "", nil
	}
	return without, nil
}

// changeImage returns the changed image, and why the overrider had no effect on it; empty if it had one.
func changeImage(value string, o *policyv1alpha1.ImageOverrider) (string, string, error) {
	parts, err := parseImage(value)
	if err != nil {
		// The value is not shown: it may be from another policy, such as a ClusterOverridePolicy that readers of the
		// error may not read.
		return "", "", fmt.Errorf("what is there before it is changed is no image; correct the template, or the override policy that set it: %w", err)
	}
	why := ""
	switch o.Component {
	case policyv1alpha1.ImageRegistry:
		parts.registry = change(parts.registry, o.Operator, o.Value)
	case policyv1alpha1.ImageRepository:
		parts.repository = change(parts.repository, o.Operator, o.Value)
	case policyv1alpha1.ImageTag:
		if !parts.changeTag(o.Operator, o.Value) {
			why = "what it makes is neither a tag nor a digest; correct the value"
		}
	default:
		return "", "", fmt.Errorf("component %q is not one of Registry, Repository and Tag", o.Component)
	}
	out := parts.String()
	if _, err := reference.Parse(out); err != nil {
		// Neither value is shown: both may be from ClusterOverridePolicies that readers of the error may not read.
		return "", "", fmt.Errorf("%s %s makes of the image what is none; correct the value in the policy: %w", o.Operator, o.Component, err)
	}
	return out, why, nil
}

func parseImage(value string) (image, error) {
	parsed, err := reference.Parse(value)
	if err != nil {
		return image{}, err
	}
	named, ok := parsed.(reference.Named)
	if !ok {
		return image{}, reference.ErrNameEmpty
	}
	var out image
	out.repository = named.Name()
	if first, rest, found := strings.Cut(out.repository, "/"); found && isRegistry(first) {
		out.registry, out.repository = first, rest
	}
	if tagged, ok := parsed.(reference.Tagged); ok {
		out.tag = tagged.Tag()
	}
	if digested, ok := parsed.(reference.Digested); ok {
		out.digest = digested.Digest().String()
	}
	return out, nil
}

func isRegistry(s string) bool { return strings.ContainsAny(s, ".:") || s == "localhost" }

// changeTag changes the tag, or the digest if there is no tag. The value determines which of the two the image then
// has; a value that is neither changes nothing, and false is returned.
func (i *image) changeTag(op policyv1alpha1.OverriderOperator, value string) bool {
	current := i.tag
	if current == "" {
		current = i.digest
	}
	next := change(current, op, value)
	switch {
	case next == "", reference.TagRegexp.FindString(next) == next:
		i.tag, i.digest = next, ""
	case isDigest(next):
		i.tag, i.digest = "", next
	default:
		return false
	}
	return true
}

func isDigest(s string) bool {
	_, err := reference.Parse("any@" + s)
	return err == nil
}

// String returns the image reference.
func (i image) String() string {
	var b strings.Builder
	if i.registry != "" {
		b.WriteString(i.registry + "/")
	}
	b.WriteString(i.repository)
	if i.tag != "" {
		b.WriteString(":" + i.tag)
	}
	if i.digest != "" {
		b.WriteString("@" + i.digest)
	}
	return b.String()
}

func change(current string, op policyv1alpha1.OverriderOperator, value string) string {
	switch op {
	case policyv1alpha1.OverrideAdd:
		return current + value
	case policyv1alpha1.OverrideReplace:
		return value
	case policyv1alpha1.OverrideRemove:
		return ""
	default:
		return current
	}
}
