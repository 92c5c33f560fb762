package kubefed

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	kjson "sigs.k8s.io/json"

	"fairlead.dev/hub/people/migrate/conversion"
)

// item is a document during its conversion, with the findings about it.
type item struct {
	conversion.Document
	name     string
	findings []conversion.Finding
	refused  bool
}

func newItem(d conversion.Document) *item {
	return &item{Document: d, name: conversion.NameOf(d.Object)}
}

// refuse refuses an object because of a field.
func (i *item) refuse(field, format string, args ...any) {
	i.refused = true
	i.find(conversion.Finding{Refused: true, Field: field, Text: fmt.Sprintf(format, args...)})
}

// tell reports what became of a field.
func (i *item) tell(field, format string, args ...any) {
	i.find(conversion.Finding{Field: field, Text: fmt.Sprintf(format, args...)})
}

func (i *item) find(f conversion.Finding) {
	f.File, f.Object = i.File, i.name
	i.findings = append(i.findings, f)
}

// key returns KubeFed's key of an object.
func (i *item) key() string {
	if i.Object.GetNamespace() == "" {
		return i.Object.GetName()
	}
	return i.Object.GetNamespace() + "/" + i.Object.GetName()
}

// decode decodes an object into a type, and says whether that succeeded. Unknown fields are refused, like those of a
// wrong type.
func (i *item) decode(into any) bool {
	raw, err := json.Marshal(i.Object.Object)
	if err != nil {
		i.refuse("", "the object cannot be encoded: %v", err)
		return false
	}
	unknown, err := kjson.UnmarshalStrict(raw, into)
	for _, e := range unknown {
		field := e.Error()
		if at, ok := errors.AsType[kjson.FieldError](e); ok {
			field = at.FieldPath()
		}
		i.refuse(strings.TrimPrefix(field, "."), "KubeFed has no field of this name; correct or remove it")
	}
	if err != nil {
		field, wrong := "", err.Error()
		if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			field, wrong = mismatch.Field, fmt.Sprintf("a %s is not expected here", mismatch.Value)
		}
		i.refuse(field, "%s; correct it", wrong)
	}
	return err == nil
}
