package chart

import (
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
)

// render renders one template, with some values of the chart's and some of the caller's.
func render(template string, values map[string]any) (string, error) {
	objects, err := Render(fstest.MapFS{
		"Chart.yaml":             {Data: []byte("name: c\nversion: 1.2.3\nappVersion: v1\n")},
		"values.yaml":            {Data: []byte("a: {b: x, c: ''}\nlist: [p, q]\nnumber: 3\n")},
		"templates/_helpers.tpl": {Data: []byte(`{{ define "name" }}{{ .Release.Name }}-{{ .Chart.AppVersion }}{{ end }}{{ define "loop" }}{{ include "loop" . }}{{ end }}`)},
		"templates/object.yaml":  {Data: []byte("---\nvalue: " + template + "\n")},
		"templates/NOTES.txt":    {Data: []byte("no object")},
	}, Release{Name: "r", AppVersion: "v2"}, values)
	if err != nil || len(objects) == 0 {
		return "", err
	}
	return text(objects[0].Object["value"]), nil
}

func TestRender(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		`{{ .Values.a.b }}`: "is",
		`{{ .Values.a.c | default "z" }}{{ .Values.a.none }}`:                                                     "z",
		`{{ include "name" . | quote }}`:                                                                          "r-v2",
		`{{ range $i, $e := .Values.list }}{{ $i }}{{ $e }}{{ $.Values.number }}{{ end }}`:                        "0p31q3",
		`{{ range $k, $v := .Values.a }}{{ $k }}{{ $v }}{{ end }}`:                                                "biscdz",
		`{{ range .Values.none }}x{{ else }}none{{ end }}`:                                                        "none",
		`{{ with .Values.none }}{{ . }}{{ else }}{{ with .Values.a.b }}{{ . }}{{ end }}{{ end }}`:                 "is",
		`{{ if and .Values.none .Values.none.below }}x{{ else if or .Values.a.b .Values.none.below }}is{{ end }}`: "is",
		`{{ $v := "a" }}{{ if true }}{{ $v = "b" }}{{ end }}{{ $v }}`:                                             "b",
		`{{ if and (eq .Values.a.b "is") (ne .Values.a.b "x") (not .Values.a.c) }}is{{ end }}`:                    "is",
		`{{ $p := splitn "." 2 "a.b.c" }}{{ $p._0 }}-{{ $p._1 }}`:                                                 "a-b.c",
		`{{ has "q" .Values.list }}{{ join "," .Values.list }}`:                                                   "truep,q",
		`{{ hasSuffix "c" "abc" }}{{ "ab" | b64enc }}`:                                                            "trueYWI=",
		`{{ toYaml .Values.list | nindent 2 }}`:                                                                   "[p q]",
		`x {{- /* nothing */}}`:                                                                                   "x",
	} {
		t.Run(template, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, err := render(template, map[string]any{"a": map[string]any{"b": "is", "d": "z"}})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(want))
		})
	}
}

func TestAValueThatIsNilTakesTheDefaultAway(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(render(`{{ toYaml .Values.a | nindent 2 }}`, map[string]any{"a": map[string]any{"b": nil}})).To(Equal("map[c:]"))
}

func TestTemplatesThatCannotBeRenderedAreRefused(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		`{{ fail "set x" }}`:             "set x",
		`{{ .Values.none.below }}`:       "no map",
		`{{ lookup "v1" "Secret" }}`:     `"lookup" not defined`,
		`{{ template "name" . }}`:        "not among",
		`{{ include "loop" . }}`:         "includes itself",
		`{{ include "none" . }}`:         `no template "none"`,
		`{{ 1.5 }}`:                      "integer",
		`{{ range .Values.a.b }}{{end}}`: "range over string",
		"1\nvalue: 2":                    "already set",
	} {
		t.Run(template, func(t *testing.T) {
			t.Parallel()
			_, err := render(template, nil)
			NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring("templates/object.yaml"), ContainSubstring(want))))
		})
	}
}
