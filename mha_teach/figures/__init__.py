"""Drawings of the book: functions that take tensors and return matplotlib Axes.

``base`` holds what all chapters share; each chapter keeps its own drawings in the file of its name.
"""
