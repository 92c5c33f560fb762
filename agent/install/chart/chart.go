package chart

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"
	"text/template/parse"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"
)

// Release is the release for which a chart is rendered.
type Release struct {
	// Name and Namespace are those of the release.
	Name, Namespace string
	// AppVersion overrides that of the chart.
	AppVersion string
}

// Render renders a chart with values, which override the chart's own. The objects come in the order of the files and
// of the documents in them.
func Render(files fs.FS, release Release, values map[string]any) ([]*unstructured.Unstructured, error) {
	dot, err := scope(files, release, values)
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, "templates/*")
	if err != nil {
		return nil, fmt.Errorf("listing the templates: %w", err)
	}
	e := &engine{trees: map[string]*parse.Tree{}, functions: map[string]any{}}
	for name := range functions() {
		e.functions[name] = true
	}
	e.functions["include"] = true
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading template %s: %w", name, err)
		}
		trees, err := parse.Parse(name, string(text), "", "", e.functions)
		if err != nil {
			return nil, fmt.Errorf("parsing template %s: %w", name, err)
		}
		maps.Copy(e.trees, trees)
	}
	var out []*unstructured.Unstructured
	for _, name := range names {
		if path.Ext(name) != ".yaml" || e.trees[name] == nil {
			continue
		}
		text, err := e.execute(name, dot)
		if err != nil {
			return nil, fmt.Errorf("rendering template %s: %w", name, err)
		}
		objects, err := decode(text)
		if err != nil {
			return nil, fmt.Errorf("reading what template %s renders: %w", name, err)
		}
		out = append(out, objects...)
	}
	return out, nil
}

// scope returns the data that templates see.
func scope(files fs.FS, release Release, values map[string]any) (map[string]any, error) {
	chart, err := read(files, "Chart.yaml")
	if err != nil {
		return nil, err
	}
	defaults, err := Values(files)
	if err != nil {
		return nil, err
	}
	version := chart["appVersion"]
	if release.AppVersion != "" {
		version = release.AppVersion
	}
	return map[string]any{
		"Values":  merge(defaults, values),
		"Chart":   map[string]any{"Name": chart["name"], "Version": chart["version"], "AppVersion": version},
		"Release": map[string]any{"Name": release.Name, "Namespace": release.Namespace},
		// Of which cluster this is for nobody asks; what depends on that is among the values.
		"Capabilities": map[string]any{"APIVersions": []any{}},
	}, nil
}

// Values returns the chart's own.
func Values(files fs.FS) (map[string]any, error) { return read(files, "values.yaml") }

func read(files fs.FS, name string) (map[string]any, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("reading %s of the chart: %w", name, err)
	}
	out := map[string]any{}
	if err := yaml.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("reading %s of the chart: %w", name, err)
	}
	return out, nil
}

// merge lays values over defaults, map by map. One that is nil takes the default away.
func merge(defaults, values map[string]any) map[string]any {
	out := maps.Clone(defaults)
	for key, value := range values {
		if value == nil {
			delete(out, key)
			continue
		}
		below, isMap := out[key].(map[string]any)
		if above, both := value.(map[string]any); isMap && both {
			value = merge(below, above)
		}
		out[key] = value
	}
	return out
}

// decode parses the documents of a rendered file, without the empty ones.
func decode(text string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+text, "\n---") {
		content := map[string]any{}
		if err := yaml.UnmarshalStrict([]byte(document), &content); err != nil {
			return nil, err
		}
		if len(content) > 0 {
			out = append(out, &unstructured.Unstructured{Object: content})
		}
	}
	return out, nil
}
