package main

import "errors"

func speedBleve(dir string, c *corpus, texts, queries []string, bytes int) error { return errors.New("x") }
func speedSQLite(dir string, c *corpus, texts, queries []string, bytes int) error { return errors.New("x") }
func speedChromem(dir string, c *corpus, texts, queries []string, bytes int) error { return errors.New("x") }
func measureQuality(engines []string) error { return nil }
